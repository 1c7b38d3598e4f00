import { insertClockApproval, readApprovedTs } from "../../store/tables/clock-approvals.ts";
import { lockHead } from "../../store/tables/receipts.ts";
import type { Sealing } from "../sealing/append.ts";
import { SealingBlocked } from "../sealing/seal-checks.ts";
import { toleranceMs } from "./tolerance.ts";

/**
 * An operator says that the clock is right: where the newest receipt's time is ahead of it, that is noted.
 * @throws SealingBlocked while something else forbids to seal
 */
export async function approveHeadTime({ tx, now, hold }: Sealing): Promise<void> {
  if (hold !== undefined) throw new SealingBlocked(hold);
  const head = await lockHead(tx);
  if (head.ts - now <= toleranceMs || head.ts <= (await readApprovedTs(tx))) return;
  await insertClockApproval(tx, head, now);
}
