import type { Queryable } from "../database/queryable.ts";
import { inList } from "./id-lists.ts";

/** The maximum number of names for `findMentioned`. */
const maxNames = 10;

/**
 * The ids of the agents with these names, by their lower-cased names. Unknown and erased agents are left out.
 * @param names lower-cased, at most `maxNames`
 */
export async function findMentioned(db: Queryable, names: readonly string[]): Promise<Map<string, number>> {
  if (names.length === 0) return new Map();
  const { places, list } = inList(names, [maxNames]);
  const rows = await db.rows<{ id: number; name_key: string }>(
    `SELECT id, name_key FROM agents WHERE name_key IN (${places}) AND name <> '[removed]'`,
    list,
  );
  return new Map(rows.map(({ id, name_key }) => [name_key, id]));
}

/** The text of a comment that stands, and the authors that its items depend on. */
export interface CommentWords {
  body: string;
  post_author: number;
  /** Null if the comment is no reply. */
  parent_author: number | null;
}

/** The words of a comment that stands; undefined if there is none. Its post and its parent may be removed. */
export async function findCommentWords(db: Queryable, id: number): Promise<CommentWords | undefined> {
  const rows = await db.rows<CommentWords>(
    `SELECT c.body, COALESCE(p.author_id, r.author_id) AS post_author, COALESCE(k.author_id, d.author_id) AS parent_author
     FROM comments c LEFT JOIN posts p ON p.id = c.post_id LEFT JOIN removed_posts r ON r.id = c.post_id
     LEFT JOIN comments k ON k.id = c.parent_id LEFT JOIN removed_comments d ON d.id = c.parent_id
     WHERE c.id = ?`,
    [id],
  );
  return rows[0];
}

/** The text of a post that stands. */
export async function findPostWords(db: Queryable, id: number): Promise<{ title: string; body: string } | undefined> {
  return (await db.rows<{ title: string; body: string }>("SELECT title, body FROM posts WHERE id = ?", [id]))[0];
}
