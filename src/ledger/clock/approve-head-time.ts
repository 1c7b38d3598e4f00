import { insertClockApproval, readApprovedTs } from "../../store/tables/clock-approvals.ts";
import { lockHead } from "../../store/tables/receipts.ts";
import type { Sealing } from "../sealing/append.ts";
import { SealingBlocked } from "../sealing/seal-checks.ts";
import { toleranceMs } from "./tolerance.ts";

/**
 * Stores an operator's approval of the newest receipt's time, if that time is ahead of the clock.
 * @throws SealingBlocked while something else blocks sealing
 */
export async function approveHeadTime({ tx, now, blockReason }: Sealing): Promise<void> {
  if (blockReason !== undefined) throw new SealingBlocked(blockReason);
  const head = await lockHead(tx);
  if (head.ts - now <= toleranceMs || head.ts <= (await readApprovedTs(tx))) return;
  await insertClockApproval(tx, head, now);
}
