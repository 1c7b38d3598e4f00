import type { Fault } from "../fault.ts";
import { clockWrong } from "./clock-wrong.ts";
import { databaseGone } from "./database-gone.ts";
import { databaseKilled } from "./database-killed.ts";
import { databaseStopped } from "./database-stopped.ts";
import { diskFull } from "./disk-full.ts";
import { dumpRestored } from "./dump-restored.ts";
import { folderCopied } from "./folder-copied.ts";
import { proxyFrozen } from "./proxy-frozen.ts";
import { receiptFlipped } from "./receipt-flipped.ts";
import { serviceKilled } from "./service-killed.ts";
import { stops } from "./stops.ts";
import { triggersDropped } from "./triggers-dropped.ts";

/** Every fault, in the order of the table. */
export const faults: readonly Fault[] = [
  serviceKilled,
  stops,
  databaseKilled,
  databaseStopped,
  proxyFrozen,
  databaseGone,
  diskFull,
  clockWrong,
  triggersDropped,
  receiptFlipped,
  dumpRestored,
  folderCopied,
];
