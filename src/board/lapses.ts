import { erasedName, lockAgentById } from "../store/tables/suspensions.ts";
import { freeName, hasTraces, listLapsing, putKeyUse } from "../store/tables/unused-agents.ts";
import type { Board, Unit } from "./board.ts";
import { logDeletion } from "./logged/entries.ts";
import { endAgent } from "./moderation/agents.ts";

/** How many registrations one sweep looks at. */
const portion = 100;

/**
 * Ends the registrations that are due because nobody has used their keys, and frees their names. Any number of replicas may do
 * so at once.
 */
export async function endUnusedAgents(board: Board, signal: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const id of await listLapsing(board.read(signal), board.expiryNow(), portion)) {
    // One that fails must not keep the others.
    await board.write(signal, (unit) => lapse(unit, id)).catch((error) => failures.push(error));
    signal.throwIfAborted();
  }
  if (failures.length > 0) throw failures[0];
}

/** Ends an agent if its registration is due. The lock on its row decides between this and the first use of its key. */
async function lapse(unit: Unit, id: number): Promise<void> {
  const { tx, now, expiryNow } = unit;
  const agent = await lockAgentById(tx, id);
  if (agent === undefined || agent.lapses_at === null || agent.name === erasedName) return;
  if (agent.lapses_at > (expiryNow?.() ?? now)) return;
  if (await hasTraces(tx, id)) {
    await putKeyUse(tx, id, null);
    return;
  }
  await endAgent(unit, agent, { item: "agent", item_id: id, began_at: now, reason: null, note: "" });
  await freeName(tx, id);
  logDeletion(unit, "agent", { id, at: now }, agent.salt);
}
