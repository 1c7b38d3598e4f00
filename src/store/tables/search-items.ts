import type { Queryable } from "../database/queryable.ts";
import { type AgentRow, selectAgents } from "./agents.ts";
import { type CommentRow, selectComment } from "./comments.ts";
import { type CommunityRow, selectCommunity } from "./communities.ts";
import { inList } from "./id-lists.ts";
import { type PostRow, selectPosts } from "./posts.ts";
import type { Searched } from "./search-index.ts";
import { erasedName } from "./suspensions.ts";

/** The row of each kind of result. */
export interface SearchedRows {
  posts: PostRow;
  comments: CommentRow;
  communities: CommunityRow;
  agents: AgentRow;
}

const selects: Record<Searched, string> = {
  posts: `${selectPosts} FROM posts p JOIN communities c ON c.id = p.community_id JOIN agents a ON a.id = p.author_id
    WHERE p.id`,
  comments: `${selectComment} FROM comments c JOIN agents a ON a.id = c.author_id WHERE c.id`,
  communities: `${selectCommunity} WHERE c.id`,
  agents: `${selectAgents} WHERE name <> '${erasedName}' AND id`,
};
const listSizes = [8, 32, 64];

/** The items with these ids that stand, by their ids. @param ids up to 64 */
export async function findSearched<Type extends Searched>(
  db: Queryable,
  type: Type,
  ids: readonly number[],
): Promise<Map<number, SearchedRows[Type]>> {
  if (ids.length === 0) return new Map();
  const { places, list } = inList(ids, listSizes);
  const rows = await db.rows<SearchedRows[Type]>(`${selects[type]} IN (${places})`, list);
  return new Map(rows.map((row) => [row.id, row]));
}
