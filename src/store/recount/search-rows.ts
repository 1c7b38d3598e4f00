import type { Queryable } from "../database/queryable.ts";
import { type Searched, sources } from "../tables/search-index.ts";
import { limitRows, type TableCheck } from "./finding.ts";

/*
 * Checks that search has the tokens of every item that is not removed, and no others. The services add missing tokens in
 * rounds. So items that changed since an hour before the last complete round began are not checked: the next round corrects
 * them. The hour is for clocks that differ, and for writes that take time.
 */

/** Items that changed at this time or later are not checked; NULL before the first complete round. */
const due = "(SELECT began_at - 3600000 FROM search_rounds WHERE id = 1)";
const kinds = { posts: "post", comments: "comment", communities: "community", agents: "agent" };

/** SQL: whether an act of moderation was about the item since `due`. */
const isModerated = (type: Searched, id: string) =>
  `EXISTS (SELECT 1 FROM moderations m WHERE m.item_id = ${id} AND m.item = '${kinds[type]}' AND m.created_at >= ${due})`;
const hasAuthor = (type: Searched): type is "posts" | "comments" => type === "posts" || type === "comments";

/** Finds items without tokens, or with those of an older text. When a community or agent changed is not considered. */
export function searchedCheck(type: Searched): TableCheck {
  const { standing, version } = sources[type];
  const isOld = hasAuthor(type) ? `AND COALESCE(t.edited_at, 0) < ${due}` : "";
  const sql = `SELECT t.id, s.id AS tokens FROM ${type} t FORCE INDEX (PRIMARY) LEFT JOIN search_${type} s ON s.id = t.id
    WHERE t.id > ? AND t.id <= ? AND ${standing} AND (s.id IS NULL OR s.text_version <> ${version})
      AND t.created_at < ${due} ${isOld} AND NOT ${isModerated(type, "t.id")} ${limitRows}`;
  return {
    table: type,
    key: "id",
    derived: [],
    async find(db, { after, to }) {
      const rows = await db.rows<{ id: number; tokens: number | null }>(sql, [after, to]);
      return rows.map(({ id, tokens }) => ({
        subject: `search_${type}`,
        key: { id },
        problem: tokens === null ? "search has no tokens of it" : "search has the tokens of an older text",
      }));
    },
  };
}

/** Finds tokens of items that do not exist or are removed, and tokens whose community or author differs from the item's. */
export function searchRowCheck(type: Searched): TableCheck {
  const { from, standing, scope } = sources[type];
  const isMisplaced = Object.entries(scope).map(([name, value]) => `OR s.${name} <> ${value}`);
  const isRecent = hasAuthor(type)
    ? `EXISTS (SELECT 1 FROM removed_${type} g WHERE g.id = s.id AND g.removed_at >= ${due})`
    : isModerated(type, "s.id");
  const sql = `SELECT s.id, t.id AS item FROM search_${type} s FORCE INDEX (PRIMARY) LEFT JOIN (${from}) ON t.id = s.id AND ${standing}
    WHERE s.id > ? AND s.id <= ? AND (t.id IS NULL ${isMisplaced.join(" ")})
      AND (t.id IS NOT NULL OR (${due} IS NOT NULL AND NOT ${isRecent})) ${limitRows}`;
  return {
    table: `search_${type}`,
    key: "id",
    derived: [],
    async find(db, { after, to }) {
      const rows = await db.rows<{ id: number; item: number | null }>(sql, [after, to]);
      return rows.map(({ id, item }) => ({
        subject: `search_${type}`,
        key: { id },
        problem: item === null ? "it does not stand" : "its community or its author is another",
      }));
    },
  };
}

/** An item, and the tokens that were made from this version of its text. */
export interface IndexedText {
  id: number;
  title: string;
  body: string;
  tokens: string;
}

/** Items with ids above `after` up to `to`, in order. Those without tokens, or with older ones, are left out. */
export function listIndexed(
  db: Queryable,
  type: Searched,
  { after, to }: { after: number; to: number },
  limit: number,
): Promise<IndexedText[]> {
  const { standing, title, body, version } = sources[type];
  return db.rows<IndexedText>(
    `SELECT t.id, ${title} AS title, ${body} AS body, s.tokens FROM search_${type} s FORCE INDEX (PRIMARY)
     STRAIGHT_JOIN ${type} t ON t.id = s.id AND ${standing} AND s.text_version = ${version}
     WHERE s.id > ? AND s.id <= ? ORDER BY s.id LIMIT ?`,
    [after, to, String(limit)],
  );
}
