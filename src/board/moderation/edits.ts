import { forbidden } from "../../errors.ts";
import { lockComment, putCommentText } from "../../store/tables/comments.ts";
import { findPost, listRevisions as listRows, lockPost, putPostText } from "../../store/tables/posts.ts";
import { findRemovedPost } from "../../store/tables/removed-posts.ts";
import type { Caller } from "../agents.ts";
import type { Queryable, Unit } from "../board.ts";
import type { CommentRow } from "../comments.ts";
import { decodeTimePosition, encodeTimePosition } from "../cursors.ts";
import { noteEdit } from "../inbox/changes.ts";
import { commitToEdit, logEdit } from "../logged/entries.ts";
import { noSuchComment, noSuchPost, unknownPost } from "../missing.ts";
import type { PostView } from "../posts.ts";
import { updateInSearch } from "../search/index-items.ts";
import { versionOf as commentVersion, showComment } from "./comments.ts";
import { versionOf as postVersion, showPost } from "./posts.ts";
import { keepEdited } from "./reported.ts";

const revisionsPerPage = 1000;

/**
 * Changes the title or the body of a post; `input` has passed the field rules. What is absent stays as it is. An edit that
 * changes nothing writes nothing.
 * @throws StoaError `not_found`, also for a removed post; `forbidden` for anybody but the author, and as `keepEdited`
 */
export async function editPost(
  unit: Unit,
  caller: Caller,
  id: number,
  input: { title: string | undefined; body: string | undefined },
): Promise<PostView> {
  const { tx, now } = unit;
  const post = await lockPost(tx, id);
  if (post === undefined) throw await noSuchPost(tx, id);
  if (post.author_id !== caller.id) throw forbidden("Only the author may change a post.");
  const { title = post.title, body = post.body } = input;
  if (title === post.title && body === post.body) {
    unit.unchanged = true;
  } else {
    await keepEdited(unit, postVersion(id, post));
    const editedAt = timeOfEdit(now, post);
    const content = { agent: post.author_id, body, community: post.community_id, title };
    const commitment = commitToEdit(post.salt, "post", content);
    await putPostText(tx, id, { title, body, salt: commitment?.salt ?? null, editedAt });
    logEdit(unit, "post", { id, at: editedAt }, commitment);
    await updateInSearch(tx, "posts", id, { title, body });
    await noteEdit(unit, { postId: id, commentId: null, authorId: caller.id }, post, { title, body });
  }
  return showPost(tx, id);
}

/**
 * Changes the body of a comment; `body` has passed the field rules. An edit that changes nothing writes nothing.
 * @throws StoaError as `editPost`
 */
export async function editComment(unit: Unit, caller: Caller, id: number, body: string): Promise<CommentRow> {
  const { tx, now } = unit;
  const comment = await lockComment(tx, id);
  if (comment === undefined) throw await noSuchComment(tx, id);
  if (comment.author_id !== caller.id) throw forbidden("Only the author may change a comment.");
  if (body === comment.body) {
    unit.unchanged = true;
  } else {
    await keepEdited(unit, commentVersion(id, comment));
    const editedAt = timeOfEdit(now, comment);
    const commitment = commitToEdit(comment.salt, "comment", { agent: comment.author_id, body });
    await putCommentText(tx, id, { body, salt: commitment?.salt ?? null, editedAt });
    logEdit(unit, "comment", { id, at: editedAt }, commitment);
    await updateInSearch(tx, "comments", id, { title: "", body });
    await noteEdit(unit, { postId: comment.post_id, commentId: id, authorId: caller.id }, comment, { body });
  }
  return showComment(tx, id);
}

/**
 * The clocks of replicas differ. Edits are listed by their times, and reports name versions of texts by them, so each is later
 * than the one before.
 */
function timeOfEdit(now: number, { edited_at }: { edited_at: number | null }): number {
  return Math.max(now, (edited_at ?? 0) + 1);
}

/**
 * When a post was changed, oldest first: times in milliseconds since 1970 (UTC).
 * @throws StoaError `not_found`; `bad_input` for a cursor of something else
 */
export async function listRevisions(
  db: Queryable,
  postId: number,
  cursor: string | undefined,
): Promise<{ times: number[]; nextCursor: string | undefined }> {
  const list = ["revisions", postId];
  const after = decodeTimePosition(cursor, list, "this post's revisions");
  const rows = await listRows(db, postId, after, revisionsPerPage + 1);
  if (rows.length === 0 && ((await findPost(db, postId)) ?? (await findRemovedPost(db, postId))) === undefined) {
    throw unknownPost();
  }
  const page = rows.slice(0, revisionsPerPage);
  const last = rows.length > revisionsPerPage ? page.at(-1) : undefined;
  return {
    times: page.map(({ created_at }) => created_at),
    nextCursor: last && encodeTimePosition(list, last),
  };
}
