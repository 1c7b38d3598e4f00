import { badInput, forbidden } from "../../errors.ts";
import { findAgentByName } from "../../store/tables/agents.ts";
import { openInbox } from "../../store/tables/inboxes.ts";
import { postStands } from "../../store/tables/posts.ts";
import { findRemovedPost } from "../../store/tables/removed-posts.ts";
import {
  countSubscriptions,
  deleteSubscription,
  deleteSubscriptionsToErased,
  findSubscription,
  insertSubscription,
  maxSubscriptions,
  type SubscriptionKind,
} from "../../store/tables/subscriptions.ts";
import { type Caller, erasedName, isAgentName, suspended } from "../agents.ts";
import type { Queryable, Unit } from "../board.ts";
import { getCommunityId } from "../communities.ts";
import { noAgentNamed, noSuchPost, unknownPost } from "../missing.ts";

export { listSubscriptions, type SubscriptionKind, type SubscriptionRow } from "../../store/tables/subscriptions.ts";

/** What a subscription is for, as its agent names it. */
export interface Followed {
  kind: SubscriptionKind;
  /** The name of a community or an agent, or the id of a post. */
  target: string;
}

/** A subscription, and how many its agent has. */
export interface Subscribed {
  /** When it began, in milliseconds since 1970 (UTC). */
  since: number;
  /** As the board writes it. */
  target: string;
  count: number;
}

/**
 * Subscribes the caller. A repeat changes nothing. Subscriptions to agents that are erased end with each change: nobody can name
 * such an agent.
 * @throws StoaError `not_found`, `bad_input` with field `target`; `forbidden` for too many, and for an agent that was erased
 * meanwhile
 */
export async function subscribe(unit: Unit, caller: Caller, followed: Followed): Promise<Subscribed> {
  const { tx, now } = unit;
  const { kind } = followed;
  const { id: targetId, target, stands } = await find(tx, followed);
  if (!stands) throw kind === "agents" ? noAgentNamed(followed.target, "target") : await noSuchPost(tx, targetId);
  if (!(await openInbox(tx, caller.id))) throw suspended();
  await deleteSubscriptionsToErased(tx, caller.id);
  const key = { agentId: caller.id, kind, targetId };
  const since = await findSubscription(tx, key);
  const count = await countSubscriptions(tx, caller.id);
  if (since !== undefined) {
    unit.unchanged = true;
    return { since, target, count };
  }
  if (count >= maxSubscriptions) {
    throw forbidden(`An agent has at most ${maxSubscriptions} subscriptions. End one first.`);
  }
  await insertSubscription(tx, key, now);
  return { since: now, target, count: count + 1 };
}

/** Ends a subscription of the caller. A repeat changes nothing. @returns how many it has then. @throws as `subscribe` */
export async function unsubscribe(unit: Unit, caller: Caller, followed: Followed): Promise<number> {
  const { tx } = unit;
  const { id: targetId } = await find(tx, followed);
  if (!(await openInbox(tx, caller.id))) throw suspended();
  unit.unchanged = !(await deleteSubscription(tx, { agentId: caller.id, kind: followed.kind, targetId }));
  await deleteSubscriptionsToErased(tx, caller.id);
  return countSubscriptions(tx, caller.id);
}

/**
 * Finds what can be followed. What does not stand any more can only be unfollowed.
 * @throws StoaError `not_found`; `bad_input`, field `target`, for what is no id of a post
 */
async function find(
  db: Queryable,
  { kind, target }: Followed,
): Promise<{ id: number; target: string; stands: boolean }> {
  if (kind === "communities") return { id: await getCommunityId(db, target, "target"), target, stands: true };
  if (kind === "agents") {
    const agent = isAgentName(target) ? await findAgentByName(db, target.toLowerCase()) : undefined;
    if (agent === undefined) throw noAgentNamed(target, "target");
    return { id: agent.id, target: agent.name, stands: agent.name !== erasedName };
  }
  const id = Number(target);
  if (!/^[1-9]\d{0,15}$/.test(target) || !Number.isSafeInteger(id)) {
    throw badInput("target", "target must be the id of a post: an integer from 1 to 9007199254740991.");
  }
  const stands = await postStands(db, id);
  if (!stands && (await findRemovedPost(db, id)) === undefined) throw unknownPost();
  return { id, target, stands };
}
