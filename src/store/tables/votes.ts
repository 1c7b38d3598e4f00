import type { Queryable, Tx } from "../database/queryable.ts";
import { addToAgent } from "./agents.ts";
import { inList } from "./id-lists.ts";

/** What agents vote on. */
export type VotedKind = "post" | "comment";

/** The votes on a post or comment, and an agent's own. */
export interface Votes {
  upvotes: number;
  downvotes: number;
  /** The agent's vote: 1, -1, or 0 for none. */
  vote: number;
}

/** What is locked for a vote. */
export interface VotedItem extends Votes {
  authorId: number;
}

interface Row {
  author_id: number;
  upvotes: number;
  downvotes: number;
  value: number | null;
}

/**
 * The statements about votes on one kind of thing. The generated column posts.score follows by itself.
 * @param author the author `a` of the thing, joined to it, if the same statement changes the karma
 */
function statementsOf(things: string, votes: string, key: string, counts: string, author = "") {
  const all = author === "" ? counts : `${counts}, a.karma = a.karma + ?`;
  return {
    select: `SELECT t.author_id, t.upvotes, t.downvotes, v.value
     FROM ${things} t LEFT JOIN ${votes} v ON v.${key} = t.id AND v.agent_id = ? WHERE t.id = ?`,
    insert: `INSERT INTO ${votes} (${key}, agent_id, value) VALUES (?, ?, ?)`,
    delete: `DELETE FROM ${votes} WHERE ${key} = ? AND agent_id = ?`,
    putCounts: `UPDATE ${things} t ${author} SET ${all} WHERE t.id = ?`,
    putAll: `UPDATE ${things} t LEFT JOIN ${votes} v ON v.${key} = t.id AND v.agent_id = ? ${author}
     SET v.value = ?, ${all} WHERE t.id = ?`,
    changesKarma: author !== "",
    listBy: `SELECT ${key} AS id, value AS vote FROM ${votes} FORCE INDEX (${votes}_agent)
     WHERE agent_id = ? AND ${key} > ? ORDER BY ${key} LIMIT ?`,
    findOf: (places: string) => `SELECT ${key} AS id, value FROM ${votes} FORCE INDEX (PRIMARY)
     WHERE ${key} IN (${places}) AND agent_id = ?`,
  };
}

const statements = {
  // A vote on a post changes an index of a foreign key, so the engines lock the community as well. A joined author would be
  // locked before that, against the lock order.
  post: statementsOf("posts", "votes", "post_id", "t.upvotes = ?, t.downvotes = ?"),
  comment: statementsOf(
    "comments",
    "comment_votes",
    "comment_id",
    "t.upvotes = ?, t.downvotes = ?, t.score = ?",
    // An outer join, so that the vote is not lost if the author is missing.
    "LEFT JOIN agents a ON a.id = t.author_id",
  ),
};

/** The votes on a post or comment, and one agent's own. Undefined when there is no such thing, or it is removed. */
export async function findVotes(
  db: Queryable,
  kind: VotedKind,
  id: number,
  agentId: number,
): Promise<Votes | undefined> {
  const [row] = await db.rows<Row>(statements[kind].select, [agentId, id]);
  return row && { upvotes: row.upvotes, downvotes: row.downvotes, vote: row.value ?? 0 };
}

/** A vote of an agent on a post or comment. */
export interface VoteRow {
  id: number;
  vote: number;
}

/** An agent's votes on posts or comments with ids above `after`, in their order, at most `limit`. */
export function listVotesBy(
  db: Queryable,
  kind: VotedKind,
  agentId: number,
  after: number,
  limit: number,
): Promise<VoteRow[]> {
  return db.rows<VoteRow>(statements[kind].listBy, [agentId, after, String(limit)]);
}

/** How many votes are looked up at once. */
const maxVotesAtOnce = 100;
const listSizes = [10, maxVotesAtOnce];

/**
 * An agent's votes on posts or comments, by their ids. Those without a vote are left out.
 * @param ids at most `maxVotesAtOnce`
 */
export async function findVotesOf(
  db: Queryable,
  kind: VotedKind,
  ids: readonly number[],
  agentId: number,
): Promise<Map<number, number>> {
  if (ids.length === 0) return new Map();
  const { places, list } = inList(ids, listSizes);
  const rows = await db.rows<{ id: number; value: number }>(statements[kind].findOf(places), [...list, agentId]);
  return new Map(rows.map(({ id, value }) => [id, value]));
}

/** The votes as `findVotes` returns them. It locks the post or comment, and then the agent's vote on it. */
export async function lockVotes(tx: Tx, kind: VotedKind, id: number, agentId: number): Promise<VotedItem | undefined> {
  const [row] = await tx.rows<Row>(`${statements[kind].select} FOR UPDATE`, [agentId, id]);
  return row && { authorId: row.author_id, upvotes: row.upvotes, downvotes: row.downvotes, vote: row.value ?? 0 };
}

/** A change of an agent's vote, and the counts that follow from it. Each vote is 1, -1, or 0 for none. */
export interface VoteChange extends Pick<VotedItem, "authorId" | "upvotes" | "downvotes"> {
  from: number;
  to: number;
}

/**
 * Changes a vote, the counts, and the karma of the author. What is voted on must be locked. It locks the author last.
 */
export async function changeVote(
  tx: Tx,
  kind: VotedKind,
  id: number,
  agentId: number,
  { from, to, authorId, upvotes, downvotes }: VoteChange,
): Promise<void> {
  const sql = statements[kind];
  const karma = to - from;
  const counts = kind === "post" ? [upvotes, downvotes] : [upvotes, downvotes, upvotes - downvotes];
  const changed = [...counts, ...(sql.changesKarma ? [karma] : []), id];
  if (from !== 0 && to !== 0) {
    await tx.run(sql.putAll, [agentId, to, ...changed]);
  } else {
    if (from === 0) await tx.run(sql.insert, [id, agentId, to]);
    else await tx.run(sql.delete, [id, agentId]);
    await tx.run(sql.putCounts, changed);
  }
  if (!sql.changesKarma) await addToAgent(tx, authorId, { karma });
}
