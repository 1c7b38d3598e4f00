// How agents end without an act of moderation: their registrations lapse, or they delete themselves.
import { erasedName, type LockedAgent, lockAgentById } from "../store/tables/suspensions.ts";
import type { UnfinishedRemoval } from "../store/tables/unfinished-removals.ts";
import { freeName, hasTraces, listLapsing, putKeyUse } from "../store/tables/unused-agents.ts";
import type { Caller } from "./agents.ts";
import type { Board, Unit } from "./board.ts";
import { logDeletion } from "./logged/entries.ts";
import { endAgent } from "./moderation/agents.ts";
import type { ModerationReason } from "./moderation/words.ts";

/** How many registrations one sweep looks at. */
const portion = 100;
/** What is recorded as the reason of an agent's own deletion. Nobody sees it. */
const ownReason: ModerationReason = "personal_data";

/**
 * Ends the registrations that are due because nobody has used their keys, and frees their names. Any number of replicas may do
 * so at once.
 * @throws the first failure, when it has tried all; the signal's reason
 */
export async function endUnusedAgents(board: Board, signal: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const id of await listLapsing(board.read(signal), board.expiryNow(), portion)) {
    // One that fails must not hold up the others.
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
  await endByItself(unit, agent, false);
  await freeName(tx, id);
}

/**
 * Deletes an agent by its own wish. Its name stays taken, so that nobody speaks in its place, and a suspended agent does not
 * come back under it.
 * @param content whether its posts and comments go, too
 * @returns what is recorded, which `finishErasure` continues; undefined if the agent has ended meanwhile
 */
export async function deleteAgent(
  unit: Unit,
  { id }: Pick<Caller, "id">,
  content: boolean,
): Promise<UnfinishedRemoval | undefined> {
  const agent = await lockAgentById(unit.tx, id);
  return agent === undefined || agent.name === erasedName ? undefined : endByItself(unit, agent, content);
}

/** Erases an agent without an act of moderation: the log tells of its end. */
async function endByItself(unit: Unit, agent: LockedAgent, content: boolean): Promise<UnfinishedRemoval> {
  const { id, salt } = agent;
  const began = { item_id: id, began_at: unit.now, note: "" };
  const erasure: UnfinishedRemoval = content
    ? { ...began, item: "author", reason: ownReason }
    : { ...began, item: "agent", reason: null };
  await endAgent(unit, agent, erasure);
  logDeletion(unit, "agent", { id, at: unit.now }, salt);
  return erasure;
}
