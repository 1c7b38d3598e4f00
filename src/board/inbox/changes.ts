import { findMentions } from "../../markdown/mentions.ts";
import type { NotedActRow } from "../../store/recount/missing-items.ts";
import {
  deleteItem,
  type ItemCause,
  type ItemKey,
  listBrought,
  listItemsAbout,
  lockInboxes,
  type Recipient,
} from "../../store/tables/inboxes.ts";
import { findCommentWords, findPostWords } from "../../store/tables/mentions.ts";
import type { Queryable, Unit } from "../board.ts";
import type { Moderator } from "../moderation/roles.ts";
import type { ModerationAct, ModerationReason } from "../moderation/words.ts";
import { idsOf, putItems } from "./notes.ts";
import { recipientsOf } from "./recipients.ts";

// How the items of inboxes follow when posts and comments are edited, removed or restored.

/** The text that items are about: a post, or a comment on it. Its row is locked. */
export interface Words {
  postId: number;
  /** Null for a post. */
  commentId: number | null;
  authorId: number;
}

/** An act of moderation on somebody's words. */
export interface NotedAct {
  moderator: Moderator;
  act: Extract<ModerationAct, "remove" | "restore" | "lock" | "unlock">;
  reason?: ModerationReason | null;
}

/** Notes an act of moderation in the inbox of the author, unless the author acts. @returns whether it is noted */
export async function noteAct(unit: Unit, words: Words, { moderator, act, reason = null }: NotedAct): Promise<boolean> {
  const { authorId } = words;
  if (moderator !== "operator" && moderator.id === authorId) return false;
  await putItems(unit, [{ agentId: authorId, type: "moderation" }], { ...causeOf(words), actorId: null, act, reason });
  return true;
}

/**
 * When a text is removed: deletes the items about it from all inboxes, and notes the act of moderation.
 * @returns whether the act is noted
 */
export async function noteRemoval(unit: Unit, words: Words, act: NotedAct): Promise<boolean> {
  await takeItems(unit, await listItemsAbout(unit.tx, words), [words.authorId]);
  return noteAct(unit, words, act);
}

/**
 * When a text is restored: puts the items about it back under new ids, and notes the act of moderation.
 * @returns whether the act is noted
 */
export async function noteRestore(unit: Unit, words: Words, act: NotedAct): Promise<boolean> {
  const recipients = await recipientsOfStanding(unit.tx, words);
  await lockInboxes(unit.tx, [words.authorId, ...idsIn(recipients)]);
  await putWordItems(unit, recipients, words);
  return noteAct(unit, words, act);
}

/** Puts an item about words that stand into the inboxes that lack one. @returns whether there were any */
export async function noteMissing(unit: Unit, words: Words): Promise<boolean> {
  const recipients = await recipientsOfStanding(unit.tx, words);
  await lockInboxes(unit.tx, idsIn(recipients));
  const items = await listItemsAbout(unit.tx, words);
  const missing = recipients.filter(({ agentId }) => !items.some(({ agent_id }) => agent_id === agentId));
  await putWordItems(unit, missing, words);
  return missing.length > 0;
}

/** A text before an edit or after it. Comments have no title. */
interface Text {
  title?: string;
  body: string;
}

/**
 * Follows an edit: deletes the items of agents that are not mentioned any more, and adds items for agents that are newly
 * mentioned. The new text must be stored.
 */
export async function noteEdit(unit: Unit, words: Words, before: Text, after: Text): Promise<void> {
  const [old, now] = [before, after].map(({ title, body }) => findMentions(body, title)) as [string[], string[]];
  const gone = old.filter((name) => !now.includes(name));
  const come = now.filter((name) => !old.includes(name));
  if (gone.length + come.length === 0) return;
  const { tx } = unit;
  const items = await listItemsAbout(tx, words);
  const goneIds = await idsOf(tx, gone);
  const comeIds = await idsOf(tx, come);
  const recipients = comeIds.length === 0 ? [] : await recipientsOfStanding(tx, words);
  const added = recipients.filter(
    ({ agentId, type }) =>
      type === "mention" && comeIds.includes(agentId) && !items.some(({ agent_id }) => agent_id === agentId),
  );
  const taken = items.filter(({ agent_id, type }) => type === "mention" && goneIds.includes(agent_id));
  await takeItems(unit, taken, idsIn(added));
  await putWordItems(unit, added, words);
}

/** Puts the item about an act of moderation into an inbox that lacks it, with the time of the act. */
export async function putActItem(unit: Unit, agentId: number, act: NotedActRow): Promise<void> {
  const cause = { postId: act.post_id, commentId: act.comment_id, actorId: null, act: act.act, reason: act.reason };
  await putItems({ ...unit, now: act.created_at }, [{ agentId, type: "moderation" }], cause);
}

/** Puts items about words that stand. What a subscription has brought about the same words goes: nobody gets two. */
async function putWordItems(unit: Unit, recipients: readonly Recipient[], words: Words): Promise<void> {
  const { tx } = unit;
  const agentIds = idsIn(recipients);
  await lockInboxes(tx, agentIds);
  for (const item of await listBrought(tx, words, agentIds)) await deleteItem(tx, item);
  await putItems(unit, recipients, causeOf(words));
}

/** Deletes items from their inboxes. @param others the agents whose inboxes must be locked as well */
async function takeItems({ tx }: Unit, items: readonly ItemKey[], others: readonly number[]): Promise<void> {
  if (items.length === 0) return;
  await lockInboxes(tx, [...others, ...items.map(({ agent_id }) => agent_id)]);
  for (const item of items) await deleteItem(tx, item);
}

/** Who would get an item about words as they stand, in the order of the ids. */
async function recipientsOfStanding(db: Queryable, { postId, commentId, authorId }: Words): Promise<Recipient[]> {
  if (commentId === null) {
    const post = await findPostWords(db, postId);
    if (post === undefined) return [];
    return recipientsOf({ authorId, mentioned: await idsOf(db, findMentions(post.body, post.title)) });
  }
  const comment = await findCommentWords(db, commentId);
  if (comment === undefined) return [];
  const { post_author: postAuthorId, parent_author: parentAuthorId, body } = comment;
  return recipientsOf({ authorId, postAuthorId, parentAuthorId, mentioned: await idsOf(db, findMentions(body)) });
}

function causeOf({ postId, commentId, authorId }: Words): ItemCause {
  return { postId, commentId, actorId: authorId, act: null, reason: null };
}

function idsIn(recipients: readonly Recipient[]): number[] {
  return recipients.map(({ agentId }) => agentId);
}
