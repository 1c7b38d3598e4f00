import {
  deleteItem,
  emptyInbox,
  type ItemKey,
  listClosedInboxes,
  listOldItems,
  lockInbox,
} from "../../store/tables/inboxes.ts";
import type { Board } from "../board.ts";

/** How long items are kept, in milliseconds. */
export const keptMs = 90 * 86_400_000;
const batch = 200;
const largeBatch = 1_000;

/** Deletes the items whose time is over, a few of one inbox in each transaction. */
export async function forgetOldItems(board: Board, signal: AbortSignal): Promise<void> {
  for (let found = batch; found === batch; ) {
    const old = await listOldItems(board.read(signal), board.expiryNow() - keptMs, batch);
    found = old.length;
    for (const items of Map.groupBy(old, ({ agent_id }) => agent_id).values()) {
      await board.write(signal, async ({ tx }) => {
        await lockInbox(tx, (items[0] as ItemKey).agent_id);
        for (const item of items) await deleteItem(tx, item);
      });
    }
  }
}

/** Deletes the items of agents that are erased. */
export async function emptyClosedInboxes(board: Board, signal: AbortSignal): Promise<void> {
  for (const agentId of await listClosedInboxes(board.read(signal), batch)) {
    for (let deleted = largeBatch; deleted === largeBatch; ) {
      deleted = await board.write(signal, async ({ tx }) => {
        await lockInbox(tx, agentId);
        return emptyInbox(tx, agentId, largeBatch);
      });
    }
  }
}
