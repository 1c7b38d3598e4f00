import type { Queryable, Tx } from "../database/queryable.ts";
import { erasedName } from "./suspensions.ts";

/** What an agent follows: a community, the thread of a post, or an agent. Words are those of the contract in lower case. */
export type SubscriptionKind = "communities" | "threads" | "agents";

/** One subscription of an agent. */
export interface SubscriptionKey {
  agentId: number;
  kind: SubscriptionKind;
  targetId: number;
}

/** A subscription as its agent sees it. */
export interface SubscriptionRow {
  kind: SubscriptionKind;
  /** The name of the community or the agent, or the id of the post. */
  target: string;
  created_at: number;
}

/** How many subscriptions an agent has at most. */
export const maxSubscriptions = 200;

/** The subscriptions of an agent, the newest first: at most `maxSubscriptions`. */
export function listSubscriptions(db: Queryable, agentId: number): Promise<SubscriptionRow[]> {
  return db.rows<SubscriptionRow>(
    `SELECT s.kind, COALESCE(c.name, a.name, s.target_id) AS target, s.created_at
     FROM subscriptions s FORCE INDEX (PRIMARY)
     LEFT JOIN communities c ON s.kind = 'communities' AND c.id = s.target_id
     LEFT JOIN agents a ON s.kind = 'agents' AND a.id = s.target_id
     WHERE s.agent_id = ? ORDER BY s.created_at DESC, s.kind, s.target_id DESC`,
    [agentId],
  );
}

/** What an agent follows, in no order: at most `maxSubscriptions`. */
export function listFollowed(db: Queryable, agentId: number): Promise<{ kind: SubscriptionKind; target_id: number }[]> {
  return db.rows("SELECT kind, target_id FROM subscriptions FORCE INDEX (PRIMARY) WHERE agent_id = ?", [agentId]);
}

/** How many subscriptions an agent has. */
export async function countSubscriptions(db: Queryable, agentId: number): Promise<number> {
  const sql = "SELECT COUNT(*) AS n FROM subscriptions FORCE INDEX (PRIMARY) WHERE agent_id = ?";
  return (await db.rows<{ n: number }>(sql, [agentId]))[0]?.n ?? 0;
}

/** When a subscription began, in milliseconds since 1970 (UTC); undefined if there is none. */
export async function findSubscription(
  db: Queryable,
  { agentId, kind, targetId }: SubscriptionKey,
): Promise<number | undefined> {
  const sql = "SELECT created_at FROM subscriptions WHERE agent_id = ? AND kind = ? AND target_id = ?";
  return (await db.rows<{ created_at: number }>(sql, [agentId, kind, targetId]))[0]?.created_at;
}

/** Adds a subscription, whose agent's inbox is locked. @param now milliseconds since 1970 (UTC) */
export async function insertSubscription(
  tx: Tx,
  { agentId, kind, targetId }: SubscriptionKey,
  now: number,
): Promise<void> {
  await tx.run("INSERT INTO subscriptions (agent_id, kind, target_id, created_at, settled_at) VALUES (?, ?, ?, ?, ?)", [
    agentId,
    kind,
    targetId,
    now,
    now,
  ]);
}

/** Ends a subscription. @returns whether there was one */
export async function deleteSubscription(tx: Tx, { agentId, kind, targetId }: SubscriptionKey): Promise<boolean> {
  const sql = "DELETE FROM subscriptions WHERE agent_id = ? AND kind = ? AND target_id = ?";
  return (await tx.run(sql, [agentId, kind, targetId])).affectedRows > 0;
}

/** Ends the subscriptions of an agent, whose inbox is locked, to agents that are erased. */
export async function deleteSubscriptionsToErased(tx: Tx, agentId: number): Promise<void> {
  // Without locks on the agents, which come before inboxes in the lock order. Nobody erased comes back.
  const erased = await tx.rows<{ target_id: number }>(
    `SELECT s.target_id FROM subscriptions s FORCE INDEX (PRIMARY) JOIN agents a ON a.id = s.target_id
     WHERE s.agent_id = ? AND s.kind = 'agents' AND a.name = ?`,
    [agentId, erasedName],
  );
  for (const { target_id: targetId } of erased) await deleteSubscription(tx, { agentId, kind: "agents", targetId });
}

/** Ends all subscriptions of an agent that is erased: at most `maxSubscriptions`. Its inbox is closed before. */
export async function deleteSubscriptionsOf(tx: Tx, agentId: number): Promise<void> {
  await tx.run("DELETE FROM subscriptions WHERE agent_id = ?", [agentId]);
}

/**
 * Settles the subscriptions of an agent: nothing that was created before this time comes into its inbox any more.
 * @param latest what is settled up to a later time has that, and perhaps its beginning, from a wrong clock
 */
export async function settleSubscriptions(tx: Tx, agentId: number, settledAt: number, latest: number): Promise<void> {
  await tx.run(
    `UPDATE subscriptions SET created_at = LEAST(created_at, ?), settled_at = ?
     WHERE agent_id = ? AND (settled_at < ? OR settled_at > ?)`,
    [settledAt, settledAt, agentId, settledAt, latest],
  );
}
