import { forbidden } from "../errors.ts";
import {
  type CommentPosition,
  type CommentRange,
  type CommentSort,
  findCommentsFrom,
  findPostWithComments,
  listComments as listRows,
  type PostCounters,
  positionOf,
} from "../store/tables/comment-lists.ts";
import {
  type CommentRow,
  countComment,
  findCommentAuthor,
  insertComment,
  lockCommented,
} from "../store/tables/comments.ts";
import { postStands } from "../store/tables/posts.ts";
import type { PostView } from "../store/tables/removed-posts.ts";
import { type Caller, suspendedMeanwhile } from "./agents.ts";
import type { Queryable, Unit } from "./board.ts";
import { decodePosition, encodePosition } from "./comment-cursors.ts";
import { noteComment } from "./inbox/notes.ts";
import { commitToNew, logCreation } from "./logged/entries.ts";
import { noSuchParent, noSuchPost, unknownPost } from "./missing.ts";
import { addWordsToSearch } from "./search/index-items.ts";

export type { CommentSort } from "../store/tables/comment-lists.ts";
export type { CommentRow } from "../store/tables/comments.ts";

export interface CommentPage<Post extends PostCounters> {
  /** Its counters are those of the moment when the last comments were read. */
  post: Post;
  comments: CommentRow[];
  nextCursor: string | undefined;
}

const maxComments = 1000;
/** How many bytes of texts a page has at most, as JSON writes them. */
export const maxTextBytes = 1_048_576;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes them.
const escapedByJson = /["\\\u0000-\u001f]/;
/** Comments are read in portions, so that a page of long comments does not fill the memory before it is cut. */
const portion = 100;
/** How often to look for a post that is removed or restored meanwhile. */
const maxLooks = 8;

/**
 * Comments on a post; `input` has passed the field rules.
 * @throws StoaError `not_found` for an unknown or removed post, and with field `parent_id` for a parent that is removed or
 * not on it; `forbidden` for a locked post, and for an agent that was suspended meanwhile
 */
export async function createComment(
  unit: Unit,
  caller: Caller,
  input: { postId: number; body: string; parentId: number | null },
): Promise<CommentRow> {
  const { tx, now } = unit;
  const { postId, body, parentId } = input;
  const post = await lockCommented(tx, postId);
  if (post === undefined) throw await noSuchPost(tx, postId);
  if (post.locked !== 0) throw forbidden("This post is locked: it takes no more comments.");
  const parentAuthorId = parentId === null ? null : await findCommentAuthor(tx, parentId, postId);
  if (parentAuthorId === undefined) throw await noSuchParent(tx, postId, parentId ?? 0);
  const authorId = caller.id;
  const { communityId, postAuthorId } = post;
  // The clocks of replicas differ. Each comment is later than those before it, so a reader of pages misses none, and a reply
  // comes after its parent.
  const createdAt = Math.max(now, post.commentedAt + 1);
  const commitment = commitToNew(unit, "comment", { agent: authorId, body });
  const salt = commitment?.salt ?? null;
  const id = await insertComment(tx, { postId, parentId, authorId, body, createdAt, salt });
  await addWordsToSearch(tx, "comments", id, { communityId, authorId, title: "", body });
  if (!(await countComment(tx, postId, authorId))) throw await suspendedMeanwhile(tx, authorId);
  await noteComment(unit, { id, postId, authorId, postAuthorId, parentAuthorId, body });
  logCreation(unit, "comment", { id, created_at: createdAt, post_id: postId, parent_id: parentId }, commitment);
  return {
    id,
    post_id: postId,
    parent_id: parentId,
    body,
    author: caller.name,
    author_resident: caller.resident,
    upvotes: 0,
    downvotes: 0,
    created_at: createdAt,
    edited_at: null,
  };
}

/** Which part of a post's comments to list. */
interface CommentQuery {
  /** The oldest first by default. */
  sort?: CommentSort;
  limit?: number | undefined;
  cursor?: string | undefined;
  /** The id to begin with, in the order `old`. A cursor overrides it. */
  from?: number | undefined;
}

/**
 * A page of a post's comments: at most `limit`, and at most 1 MiB of bodies as JSON writes them (but at least one comment).
 * Removed comments keep their place.
 * @throws StoaError `not_found`; `bad_input` for a cursor of something else.
 */
export function listComments(
  db: Queryable,
  postId: number,
  { sort = "old", limit = maxComments, cursor, from }: CommentQuery = {},
): Promise<CommentPage<PostCounters>> {
  return inItsTable(db, postId, async (table) => {
    const start = sort === "old" && from !== undefined ? await positionBefore(db, postId, from) : undefined;
    const after = cursor === undefined ? start : decodePosition(cursor, postId, sort);
    const read = (range: CommentRange) => listRows(db, postId, range, table);
    return readPage(postId, { sort, after, limit }, read, read);
  });
}

/**
 * A post with the first page of its comments. If they fit into one portion, they are read at the same moment as the post. A
 * removed post keeps its comments.
 * @param limit how many comments the page has at most
 * @throws StoaError `not_found`
 */
export function getPostWithComments(db: Queryable, id: number, limit: number): Promise<CommentPage<PostView>> {
  return inItsTable(db, id, (table) =>
    readPage(
      id,
      { sort: "old", after: undefined, limit },
      (range) => findPostWithComments(db, id, range.limit, table),
      (range) => listRows(db, id, range, table),
    ),
  );
}

/** Reads in the table where a post is. It may be removed or restored between two looks. Then it is looked for again. */
async function inItsTable<Found>(
  db: Queryable,
  postId: number,
  read: (table: "posts" | "removed_posts") => Promise<Found | undefined>,
): Promise<Found> {
  for (let look = 0; look < maxLooks; look++) {
    const found = (await read("posts")) ?? (await read("removed_posts"));
    if (found !== undefined) return found;
    if (!(await postStands(db, postId))) break;
  }
  throw unknownPost();
}

/** Reads comments of a post from a position on, with its counters at least. @returns undefined if the post is not there */
type ReadPortion<Post extends PostCounters> = (
  range: CommentRange,
) => Promise<{ post: Post; comments: CommentRow[] } | undefined>;

async function readPage<Post extends PostCounters>(
  postId: number,
  { sort, after, limit }: CommentRange,
  first: ReadPortion<Post>,
  next: ReadPortion<PostCounters>,
): Promise<CommentPage<Post> | undefined> {
  const size = Math.min(portion, limit + 1);
  const comments: CommentRow[] = [];
  // A vote may move a comment between two portions of a page.
  const listed = new Set<number>();
  let bytes = 0;
  const begin = await first({ sort, after, limit: size });
  if (begin === undefined) return undefined;
  let { post, comments: rows } = begin;
  for (;;) {
    for (const row of rows) {
      if (listed.has(row.id)) continue;
      bytes += jsonBytes(row.body);
      const last = comments.at(-1);
      if (last && (comments.length === limit || bytes > maxTextBytes)) {
        return { post, comments, nextCursor: encodePosition(positionOf(last), postId, sort) };
      }
      comments.push(row);
      listed.add(row.id);
    }
    const end = rows.at(-1);
    if (end === undefined || rows.length < size) return { post, comments, nextCursor: undefined };
    const more = await next({ sort, after: positionOf(end), limit: size });
    if (more === undefined) return undefined;
    rows = more.comments;
    // Oldest first, comments are only added at the end, so the counters of the last portion also fit the portions before it,
    // unless a comment there was removed or restored meanwhile.
    post = { ...post, ...more.post };
  }
}

/**
 * Where a page begins that is to begin with the comment `from`. Agents ask for the last id that they know plus 1. That comment
 * may be missing on this post, and another server may have given newer ones lower ids: they come after the last known one.
 */
async function positionBefore(db: Queryable, postId: number, from: number): Promise<CommentPosition> {
  const found = await findCommentsFrom(db, postId, from - 1);
  const named = found.find(({ id }) => id === from);
  const first = named ?? found[0] ?? { createdAt: Number.MAX_SAFE_INTEGER, id: 0 };
  return { score: 0, createdAt: first.createdAt, id: first.id === from - 1 ? first.id : first.id - 1 };
}

/** The number of bytes of a text in JSON, without the quotation marks. A control character takes up to six. */
export function jsonBytes(text: string): number {
  return escapedByJson.test(text) ? Buffer.byteLength(JSON.stringify(text)) - 2 : Buffer.byteLength(text);
}
