import { insertClockWord, readAcceptedTs } from "../../store/tables/clock-words.ts";
import { lockHead } from "../../store/tables/receipts.ts";
import type { Sealing } from "../sealing/append.ts";
import { SealsHeld } from "../sealing/seal-checks.ts";
import { toleranceMs } from "./tolerance.ts";

/**
 * An operator says that the clock is right: where the newest receipt's time is ahead of it, that is noted.
 * @throws SealsHeld while something else forbids to seal
 */
export async function acceptHead({ tx, now, hold }: Sealing): Promise<void> {
  if (hold !== undefined) throw new SealsHeld(hold);
  const head = await lockHead(tx);
  if (head.ts - now <= toleranceMs || head.ts <= (await readAcceptedTs(tx))) return;
  await insertClockWord(tx, head, now);
}
