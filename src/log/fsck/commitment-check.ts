import { commitmentOf, contentOf } from "../../board/logged/commitments.ts";
import { creationOf, importRows } from "../../board/logged/entries.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable, Tx } from "../../store/database/queryable.ts";
import { type Finding, type Outcome, unrepaired } from "../../store/recount/finding.ts";
import { listWithDeletions, newestEntriesOf } from "../../store/recount/log.ts";
import { insertIntoOutbox } from "../../store/tables/log-outbox.ts";
import {
  findRemovedRow,
  findSaltedRow,
  listRemovedRows,
  listSaltedRows,
  lockSaltedRow,
  putSalts,
  removedTableOf,
  type SaltedKind,
  type SaltedRows,
  saltedKinds,
  tableOf,
} from "../../store/tables/salted-rows.ts";
import { formatContent } from "../../tlog/entries/content.ts";
import { formatEntry } from "../../tlog/entries/entry-text.ts";
import { TlogError } from "../../tlog/error.ts";
import { findStandingEntry, readLostRanges } from "../lost-ranges.ts";

/** How many rows are read at once. Each has 40 KB at most. */
const portion = 128;

/** How the text of a row compares with the log. */
type State = "agrees" | "contradicts" | "not in the log";

const problems = {
  contradicts: "the text contradicts what the log has committed to: restore or remove it",
  "not in the log": "the text is not in the log",
};

/**
 * Compares each text that stands with its newest commitment, and each row with the entry of its creation.
 * @param isImported whether the import has ended: then texts without a salt should be in the log, too
 * @param repairIn the database in which it adds texts that the log lacks. A text that contradicts the log is never changed
 */
export async function* checkCommitments(
  db: Queryable,
  signal: AbortSignal,
  isImported: boolean,
  repairIn?: Database,
): AsyncGenerator<Outcome, void> {
  for (const kind of saltedKinds) {
    for await (const rows of portions((after) => listSaltedRows(db, kind, after, portion))) {
      const newest = await newestEntriesOf(db, kind, idsOf(rows), "content");
      yield* unrepaired(checkCreations(db, kind, rows, newest, tableOf(kind)));
      for (const row of rows) {
        if (row.salt === null && !isImported) continue;
        if (stateOf(kind, row, newest.get(row.id)) === "agrees") continue;
        const state = await lookAgain(db, kind, row.id, isImported, findSaltedRow);
        if (state === "agrees") continue;
        const repairing = state === "not in the log" ? repairIn : undefined;
        const finding = { subject: `${tableOf(kind)}.salt`, key: { id: row.id }, problem: problems[state] };
        const repaired = (await repairing?.transaction(signal, (tx) => addToLog(tx, kind, row.id))) ?? false;
        yield { finding, repaired };
      }
    }
  }
}

/**
 * Compares rows with the entries of their creations: when each was created and, of a comment, where.
 * @param newest their newest entries that commit to a text, which for most rows is that of the creation
 */
async function* checkCreations<Kind extends SaltedKind>(
  db: Queryable,
  kind: Kind,
  rows: readonly SaltedRows[Kind][],
  newest: ReadonlyMap<number, string>,
  subject: string,
): AsyncGenerator<Finding, void> {
  const edited = idsOf(rows).filter((id) => newest.get(id)?.includes('"type":"edit"'));
  const older = edited.length === 0 ? new Map() : await newestEntriesOf(db, kind, edited, "creation");
  const created = new Map([...newest, ...older]);
  for (const row of rows) {
    const entry = created.get(row.id);
    if (entry === undefined || isCreationOf(kind, row, entry)) continue;
    const what = kind === "comment" ? "time, post or parent" : "time";
    yield { subject, key: { id: row.id }, problem: `the log has another ${what} of its creation` };
  }
}

function isCreationOf<Kind extends SaltedKind>(kind: Kind, row: SaltedRows[Kind], entry: string): boolean {
  try {
    // In canonical JSON the commitment comes first.
    const right = creationOf(kind, row, entry.slice(12, 76));
    return entry === formatEntry(entry.includes('"imported":true') ? { ...right, imported: true } : right);
  } catch (error) {
    // No entry may have the time or the number of a damaged row.
    if (error instanceof TlogError || error instanceof RangeError) return false;
    throw error;
  }
}

/** Compares each text that is kept of a removed post or comment, for its restore, with its newest commitment. */
export async function* checkRemovedTexts(db: Queryable): AsyncGenerator<Finding, void> {
  for (const kind of ["post", "comment"] as const) {
    for await (const rows of portions((after) => listRemovedRows(db, kind, after, portion))) {
      const kept = rows.filter(({ salt }) => salt !== null);
      const newest = kept.length === 0 ? new Map() : await newestEntriesOf(db, kind, idsOf(kept), "content");
      yield* checkCreations(db, kind, kept, newest, removedTableOf(kind));
      for (const row of kept) {
        if (stateOf(kind, row, newest.get(row.id)) === "agrees") continue;
        if ((await lookAgain(db, kind, row.id, false, findRemovedRow)) === "agrees") continue;
        const problem = "the text that is kept contradicts what the log has committed to";
        yield { subject: `${removedTableOf(kind)}.salt`, key: { id: row.id }, problem };
      }
    }
  }
}

/** Finds posts and comments that their authors deleted, and agents that ended, whose end is missing in the log. */
export async function* checkDeletions(db: Queryable): AsyncGenerator<Finding, void> {
  for (const [item, table] of [
    ["post", "removed_posts"],
    ["comment", "removed_comments"],
    ["agent", "agents"],
  ] as const) {
    for await (const rows of portions((after) => listWithDeletions(db, table, after, portion))) {
      const ids = idsOf(rows.filter(({ by_author }) => by_author === 1));
      if (ids.length === 0) continue;
      const known = await newestEntriesOf(db, item, ids, "content");
      const deleted = await newestEntriesOf(db, item, ids, "deletion");
      for (const id of ids.filter((each) => known.has(each) && !deleted.has(each))) {
        yield { subject: table, key: { id }, problem: "the log does not tell of its deletion" };
      }
    }
  }
}

/**
 * All rows of a list, in the order of their ids. It ends at a damaged id that a number cannot hold: its row would come again
 * for ever.
 * @param list reads the next ones after an id
 */
async function* portions<Row extends { id: number }>(
  list: (after: number) => Promise<Row[]>,
): AsyncGenerator<Row[], void> {
  for (let after: number | undefined = -1; after !== undefined; ) {
    const rows: Row[] = await list(after);
    if (rows.length > 0) yield rows;
    const next = rows.at(-1)?.id;
    after = next === after ? undefined : next;
  }
}

/** How often a text is looked at again while it is being edited. */
const maxLooks = 5;

/**
 * Looks again at a row that seems wrong: services may edit it between two statements. Each edit has a new salt. So if the salt
 * is the same before and after the entry is read, the entry belongs to the row.
 */
async function lookAgain<Kind extends SaltedKind>(
  db: Queryable,
  kind: Kind,
  id: number,
  isImported: boolean,
  find: (db: Queryable, kind: Kind, id: number) => Promise<SaltedRows[Kind] | undefined>,
): Promise<State> {
  for (let look = 0; look < maxLooks; look++) {
    const before = await find(db, kind, id);
    const newest = (await newestEntriesOf(db, kind, [id], "content")).get(id);
    const after = await find(db, kind, id);
    if (before === undefined || after === undefined || (after.salt === null && !isImported)) return "agrees";
    const isSame = before.salt === null ? after.salt === null : after.salt?.equals(before.salt);
    if (!isSame) continue;
    const state = stateOf(kind, before, newest);
    const lost = state === "contradicts" ? await readLostRanges(db) : [];
    // The newest entry may be of an edit that was lost with a restored database.
    return lost.length === 0 ? state : stateOf(kind, before, (await findStandingEntry(db, kind, id, lost))?.entry);
  }
  return "agrees";
}

/** Adds the entry of a text that is not in the log, as the import does. @returns whether nothing is missing any more */
async function addToLog(tx: Tx, kind: SaltedKind, id: number): Promise<boolean> {
  const row = await lockSaltedRow(tx, kind, id);
  if (row === undefined) return true;
  const newest = (await newestEntriesOf(tx, kind, [id], "content")).get(id);
  if (newest !== undefined) return stateOf(kind, row, newest) === "agrees";
  const imported = importRows(kind, [row]);
  await putSalts(tx, kind, imported);
  await insertIntoOutbox(tx, imported);
  return true;
}

function stateOf<Kind extends SaltedKind>(kind: Kind, row: SaltedRows[Kind], newest: string | undefined): State {
  if (newest === undefined) return "not in the log";
  if (row.salt === null) return "contradicts";
  try {
    const text = formatContent(kind, contentOf(kind, row));
    // In canonical JSON the commitment comes first.
    return newest.startsWith(`{"content":"${commitmentOf(row.salt, text)}"`) ? "agrees" : "contradicts";
  } catch (error) {
    // A damaged row may have no canonical form.
    if (error instanceof TlogError) return "contradicts";
    throw error;
  }
}

function idsOf(rows: readonly { id: number }[]): number[] {
  return rows.map(({ id }) => id);
}
