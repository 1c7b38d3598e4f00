import type { Queryable, Tx } from "../database/queryable.ts";
import { erasedName } from "./suspensions.ts";

/*
 * The rows that search looks in. Each follows from the row of its item, and is written by whoever has locked that one. So
 * nobody waits for them while holding another row.
 */

/** What can be searched: the tables of the items. */
export type Searched = "posts" | "comments" | "communities" | "agents";

/** The texts of an item. The title counts for more. */
export interface SearchText {
  title: string;
  body: string;
}

interface Source {
  /** The item, as `t`, and what its scope is read from. */
  from: string;
  /** Which items stand. */
  standing: string;
  title: string;
  body: string;
  /** Changes with the text. */
  version: string;
  /** The columns that filters need, with their values. */
  scope: Readonly<Record<string, string>>;
}

const edited = "COALESCE(t.edited_at, 0)";
/** How the rows of search follow from each kind of item. */
export const sources: Record<Searched, Source> = {
  posts: {
    from: "posts t",
    standing: "TRUE",
    title: "t.title",
    body: "t.body",
    version: edited,
    scope: { community_id: "t.community_id", author_id: "t.author_id" },
  },
  comments: {
    // A comment stands although its post is removed.
    from: "comments t LEFT JOIN posts p ON p.id = t.post_id LEFT JOIN removed_posts d ON d.id = t.post_id",
    standing: "TRUE",
    title: "''",
    body: "t.body",
    version: edited,
    scope: { community_id: "COALESCE(p.community_id, d.community_id)", author_id: "t.author_id" },
  },
  communities: {
    from: "communities t",
    standing: "TRUE",
    title: "CONCAT(t.name, ' ', t.title)",
    body: "t.description",
    version: "CRC32(CONCAT(t.title, ' ', t.description))",
    scope: {},
  },
  agents: {
    from: "agents t",
    standing: `t.name <> '${erasedName}'`,
    title: "t.name",
    body: "t.bio",
    version: "CRC32(CONCAT(t.name, ' ', t.bio))",
    scope: {},
  },
};

/** Adds the tokens of an item that stands and has none. */
export async function insertTokens(tx: Tx, type: Searched, id: number, tokens: string): Promise<void> {
  const { from, standing, version, scope } = sources[type];
  const names = Object.keys(scope).map((name) => `${name}, `);
  const values = Object.values(scope).map((value) => `${value}, `);
  await tx.run(
    `INSERT INTO search_${type} (id, ${names.join("")}text_version, tokens)
     SELECT t.id, ${values.join("")}${version}, ? FROM ${from} WHERE t.id = ? AND ${standing}`,
    [tokens, id],
  );
}

/** Where a post or comment belongs, for the filters. */
export interface Scope {
  communityId: number;
  authorId: number;
}

/** Adds the tokens of a post or comment that this transaction creates. Reading the rest from its row would take longer. */
export async function insertTokensOfNew(
  tx: Tx,
  type: "posts" | "comments",
  id: number,
  { communityId, authorId }: Scope,
  tokens: string,
): Promise<void> {
  await tx.run(
    `INSERT INTO search_${type} (id, community_id, author_id, text_version, tokens) VALUES (?, ?, ?, 0, ?)`,
    [id, communityId, authorId, tokens],
  );
}

/** Deletes the tokens of an item, if it has any. */
export async function deleteTokens(tx: Tx, type: Searched, id: number): Promise<void> {
  await tx.run(`DELETE FROM search_${type} WHERE id = ?`, [id]);
}

/** The texts of an item that stands. */
export async function readText(db: Queryable, type: Searched, id: number): Promise<SearchText | undefined> {
  const { standing, title, body } = sources[type];
  const sql = `SELECT ${title} AS title, ${body} AS body FROM ${type} t WHERE t.id = ? AND ${standing}`;
  return (await db.rows<SearchText>(sql, [id]))[0];
}

/**
 * Locks an item.
 * @returns its texts, undefined if it does not stand, and whether its tokens are missing, left over or of another version
 */
export async function lockStale(
  tx: Tx,
  type: Searched,
  id: number,
): Promise<{ text: SearchText | undefined; isStale: boolean }> {
  const { standing, title, body, version } = sources[type];
  const [row] = await tx.rows<SearchText & { version: number }>(
    `SELECT ${title} AS title, ${body} AS body, ${version} AS version FROM ${type} t WHERE t.id = ? AND ${standing} FOR UPDATE`,
    [id],
  );
  const [stored] = await tx.rows<{ text_version: number }>(`SELECT text_version FROM search_${type} WHERE id = ?`, [
    id,
  ]);
  return { text: row, isStale: row?.version !== stored?.text_version };
}

/**
 * The items after `after` and up to `to` whose tokens are missing, stale, or left over from an item that no longer stands. It
 * compares every item between, which the caller limits.
 */
export async function listStale(
  db: Queryable,
  type: Searched,
  after: number,
  to: number,
  limit: number,
): Promise<number[]> {
  const { standing, version } = sources[type];
  const rows = await db.rows<{ id: number }>(
    `(SELECT t.id FROM ${type} t LEFT JOIN search_${type} s ON s.id = t.id
      WHERE t.id > ? AND t.id <= ? AND ${standing} AND (s.id IS NULL OR s.text_version <> ${version}) ORDER BY t.id LIMIT ?)
     UNION ALL
     (SELECT s.id FROM search_${type} s LEFT JOIN ${type} t ON t.id = s.id AND ${standing}
      WHERE s.id > ? AND s.id <= ? AND t.id IS NULL ORDER BY s.id LIMIT ?)`,
    [after, to, String(limit), after, to, String(limit)],
  );
  return rows.map(({ id }) => id).sort((a, b) => a - b);
}

/**
 * The lowest id after `after` that an item or its tokens have; undefined if there is none. Ids need not be in the order of
 * time: an item that a round misses is found by the next one.
 */
export async function nextSearched(db: Queryable, type: Searched, after: number): Promise<number | undefined> {
  const rows = await db.rows<{ id: number | null }>(
    `SELECT MIN(id) AS id FROM ${type} WHERE id > ? UNION ALL SELECT MIN(id) FROM search_${type} WHERE id > ?`,
    [after, after],
  );
  const ids = rows.map(({ id }) => id).filter((id) => id !== null);
  return ids.length === 0 ? undefined : Math.min(...ids);
}

/** Stores when a complete round through all items began, in milliseconds since 1970 (UTC). */
export async function putSearchRound(tx: Tx, beganAt: number): Promise<void> {
  const sql = "INSERT INTO search_rounds (id, began_at) VALUES (1, ?) ON DUPLICATE KEY UPDATE began_at = ?";
  await tx.run(sql, [beganAt, beganAt]);
}
