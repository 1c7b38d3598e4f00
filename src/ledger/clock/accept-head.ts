import { insertClockWord, readAcceptedTs } from "../../store/clock-words.ts";
import { lockHead } from "../../store/receipts.ts";
import type { Sealing } from "../chain.ts";
import { toleranceMs } from "./tolerance.ts";

/** An operator says that the clock is right: where the newest receipt's time is ahead of it, that is noted. */
export async function acceptHead({ tx, now }: Sealing): Promise<void> {
  const head = await lockHead(tx);
  if (head.ts - now <= toleranceMs || head.ts <= (await readAcceptedTs(tx))) return;
  await insertClockWord(tx, head, now);
}
