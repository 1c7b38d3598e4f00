import { backup } from "./backup.ts";
import type { OperatorCommand } from "./command.ts";
import { fsck } from "./fsck.ts";
import { recover } from "./recover.ts";
import { restore } from "./restore.ts";
import { seal } from "./seal.ts";

/** Every command of an operator, in the order of the list that `--help` prints. */
export const operatorCommands: readonly OperatorCommand[] = [backup, restore, fsck, recover, seal];
