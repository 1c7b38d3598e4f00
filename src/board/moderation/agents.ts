import { badInput, notFound, type StoaError } from "../../errors.ts";
import { findAgentByName } from "../../store/tables/agents.ts";
import { eraseReply } from "../../store/tables/idempotency-replies.ts";
import { closeInbox } from "../../store/tables/inboxes.ts";
import { deleteSubscriptionsOf } from "../../store/tables/subscriptions.ts";
import {
  deleteSuspension,
  eraseAgentRow,
  erasedName,
  findSuspension,
  insertSuspension,
  type LockedAgent,
  lockAgent,
  lockAgentById,
  putSuspension,
  revokeKey,
  revokeKeys,
  type Suspension,
} from "../../store/tables/suspensions.ts";
import { putUnfinished, type UnfinishedRemoval } from "../../store/tables/unfinished-removals.ts";
import { isAgentName } from "../agents.ts";
import type { Queryable, Unit } from "../board.ts";
import { noteRevokedKey } from "../inbox/notes.ts";
import { removeFromSearch } from "../search/index-items.ts";
import { recordAct } from "./record.ts";
import type { ModerationReason } from "./words.ts";

/** The last time that RFC 3339 can write, in milliseconds since 1970 (UTC). */
const latestMs = Date.parse("9999-12-31T23:59:59.999Z");

/** Why the operator acts on an agent. */
export interface AgentAct {
  reason: ModerationReason;
  /** A remark that is not public; empty for none. */
  note: string;
}

/**
 * Suspends an agent: it may read and not write. A second suspension replaces the first.
 * @param endsAt in milliseconds since 1970 (UTC); null for ever
 * @returns the agent's id
 * @throws StoaError `not_found`; `bad_input`, field `until`, for a time that has passed or cannot be shown
 */
export async function suspendAgent(
  unit: Unit,
  name: string,
  { reason, note, endsAt }: AgentAct & { endsAt: number | null },
): Promise<number> {
  const { tx, now } = unit;
  if (endsAt !== null && endsAt <= now) throw badInput("until", "until is a time that has passed.");
  if (endsAt !== null && endsAt > latestMs) throw badInput("until", "until is after the year 9999.");
  const { id } = await lockStanding(unit, name);
  const suspension: Suspension = { reason, endsAt };
  const before = await findSuspension(tx, id);
  if (before?.reason === reason && before.endsAt === endsAt) {
    unit.unchanged = true;
    return id;
  }
  if (before === undefined) await insertSuspension(tx, id, suspension);
  else await putSuspension(tx, id, suspension);
  await recordAct(unit, { by: "operator", act: "suspend", item: "agent", itemId: id, reason, note });
  return id;
}

/** Ends a suspension. @returns the agent's id. @throws StoaError `not_found` for an unknown agent */
export async function unsuspendAgent(unit: Unit, name: string): Promise<number> {
  const { id } = await lockStanding(unit, name);
  if ((await findSuspension(unit.tx, id)) === undefined) {
    unit.unchanged = true;
    return id;
  }
  await deleteSuspension(unit.tx, id);
  await recordAct(unit, { by: "operator", act: "unsuspend", item: "agent", itemId: id });
  return id;
}

/** Ends the suspension of an agent if its time is over. That is not an act of moderation. */
export async function endExpiredSuspension({ tx, now, expiryNow }: Unit, agentId: number): Promise<void> {
  await lockAgentById(tx, agentId);
  const suspension = await findSuspension(tx, agentId);
  if (suspension === undefined || suspension.endsAt === null || suspension.endsAt > (expiryNow?.() ?? now)) return;
  await deleteSuspension(tx, agentId);
}

/** Revokes all keys of an agent. @returns the agent's id. @throws StoaError `not_found` */
export async function revokeAgentKeys(unit: Unit, name: string, { reason, note }: AgentAct): Promise<number> {
  const { id, key_reply } = await lockStanding(unit, name);
  if (await revokeAll(unit, id, key_reply)) {
    await recordAct(unit, { by: "operator", act: "revoke_keys", item: "agent", itemId: id, reason, note });
  } else {
    unit.unchanged = true;
  }
  return id;
}

/** A key that somebody has put into a text. */
export interface ShownKey {
  agentId: number;
  hash: Buffer;
}

/**
 * Revokes keys that somebody has put into a text, and tells their agents. That is not an act of moderation.
 * @param keys in the order of their agents' ids, in which agents are locked
 */
export async function revokeShownKeys(unit: Unit, keys: readonly ShownKey[]): Promise<void> {
  const { tx, now } = unit;
  const told = new Set<number>();
  for (const { agentId, hash } of keys) {
    const keyReply = (await lockAgentById(tx, agentId))?.key_reply ?? null;
    const revoked = await revokeKey(tx, agentId, hash, now);
    if (revoked !== undefined) told.add(agentId);
    // A stored reply would give the key out again.
    if (revoked === "current" && keyReply !== null) await eraseReply(tx, keyReply);
  }
  for (const agentId of told) await noteRevokedKey(unit, agentId);
}

/**
 * Erases an agent: its profile and its keys are gone, its name is `[removed]` wherever it is shown, and stays taken. What
 * takes longer is recorded: `finishErasure` continues it.
 * @param content whether to remove its posts and comments as well; this may be asked for later, too
 * @returns what is recorded
 * @throws StoaError `not_found`
 */
export async function eraseAgent(
  unit: Unit,
  name: string,
  { reason, note }: AgentAct,
  content: boolean,
): Promise<UnfinishedRemoval> {
  const { tx, now } = unit;
  const agent = await lockNamed(unit, name);
  const { id } = agent;
  const erasure: UnfinishedRemoval = {
    item: "agent",
    item_id: id,
    began_at: now,
    ...(content ? { reason, note } : { reason: null, note: "" }),
  };
  if (agent.name === erasedName) {
    await putUnfinished(tx, erasure);
    unit.unchanged = true;
    return erasure;
  }
  await endAgent(unit, agent, erasure);
  await recordAct(unit, { by: "operator", act: "erase", item: "agent", itemId: id, reason, note });
  return erasure;
}

/** Erases the profile and the keys of an agent that is locked and stands, and records what is left to be done. */
export async function endAgent(unit: Unit, { id, key_reply }: LockedAgent, erasure: UnfinishedRemoval): Promise<void> {
  const { tx } = unit;
  await revokeAll(unit, id, key_reply);
  await eraseAgentRow(tx, id);
  await removeFromSearch(tx, "agents", id);
  await closeInbox(tx, id);
  await deleteSubscriptionsOf(tx, id);
  await putUnfinished(tx, erasure);
}

/** The id of an agent, erased or not. @throws StoaError `not_found` */
export async function getAgentId(db: Queryable, name: string): Promise<number> {
  const agent = isAgentName(name) ? await findAgentByName(db, name.toLowerCase()) : undefined;
  if (agent === undefined) throw noSuchAgent();
  return agent.id;
}

function noSuchAgent(): StoaError {
  return notFound("There is no agent with this name.", "name");
}

/** @returns whether there was a key */
async function revokeAll({ tx }: Unit, id: number, keyReply: Buffer | null): Promise<boolean> {
  // A stored reply would give the key out again.
  if (keyReply !== null) await eraseReply(tx, keyReply);
  return revokeKeys(tx, id);
}

/** Locks an agent, erased or not. */
async function lockNamed({ tx }: Unit, name: string) {
  const agent = isAgentName(name) ? await lockAgent(tx, name.toLowerCase()) : undefined;
  if (agent === undefined) throw noSuchAgent();
  return agent;
}

/** Locks an agent that is not erased. */
async function lockStanding(unit: Unit, name: string) {
  const agent = await lockNamed(unit, name);
  if (agent.name === erasedName) throw noSuchAgent();
  return agent;
}
