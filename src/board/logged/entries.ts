// What writes add to the board's log. Acts of moderation are not added here: the log takes them from their record.
import type { NewLogEntry } from "../../store/tables/log-entries.ts";
import { findSaltedRow, putSalts, type SaltedKind, type SaltedRows } from "../../store/tables/salted-rows.ts";
import type { Salt } from "../../store/tables/salts.ts";
import type { Contents } from "../../tlog/entries/content.ts";
import type { Entry } from "../../tlog/entries/entry.ts";
import { formatEntry } from "../../tlog/entries/entry-text.ts";
import type { Unit } from "../board.ts";
import { type Commitment, commitTo, contentOf } from "./commitments.ts";

/** Commits to the text of something new. @returns undefined while no log has begun */
export function commitToNew<Kind extends SaltedKind>(
  { isLogged = false }: Unit,
  kind: Kind,
  content: Contents[Kind],
): Commitment | undefined {
  return isLogged ? commitTo(kind, content) : undefined;
}

/**
 * Commits to the new text of something.
 * @param before the salt of the text before; null if that is not in the log. Then the import adds the text as it is by then
 */
export function commitToEdit<Kind extends SaltedKind>(
  before: Salt,
  kind: Kind,
  content: Contents[Kind],
): Commitment | undefined {
  return before === null ? undefined : commitTo(kind, content);
}

/** What the entry of something new needs, besides the commitment. `created_at` in milliseconds since 1970 (UTC). */
type Created = { id: number; created_at: number } & Partial<Pick<SaltedRows["comment"], "post_id" | "parent_id">>;

/** Adds the entry of something new, if the log has begun. */
export function logCreation(unit: Unit, kind: SaltedKind, row: Created, commitment: Commitment | undefined): void {
  if (commitment !== undefined) add(unit, kind, row.id, creationOf(kind, row, commitment.content));
}

/** Adds the entry of a new text, at the time `at` in milliseconds since 1970 (UTC). */
export function logEdit(
  unit: Unit,
  of: SaltedKind,
  { id, at }: { id: number; at: number },
  commitment: Commitment | undefined,
): void {
  if (commitment === undefined) return;
  add(unit, of, id, { type: "edit", id, of, content: commitment.content, ts: timeOf(at) });
}

/** Adds the entry of a deletion by the author, or of the end of an agent, if the log has it. @param salt the one that it had */
export function logDeletion(unit: Unit, of: SaltedKind, { id, at }: { id: number; at: number }, salt: Salt): void {
  if (salt !== null) add(unit, of, id, { type: "deletion", id, of, ts: timeOf(at) });
}

/**
 * Adds an imported entry of a post or comment that was restored, if it was removed before the log began. Otherwise the act
 * says enough: the text has kept its salt.
 */
export async function logRestore(unit: Unit, kind: "post" | "comment", id: number): Promise<void> {
  if (!unit.isLogged) return;
  const row = await findSaltedRow(unit.tx, kind, id);
  if (row?.salt !== null) return;
  const [imported] = importRows(kind, [row]);
  if (imported === undefined) return;
  await putSalts(unit.tx, kind, [imported]);
  unit.entries = [...(unit.entries ?? []), imported];
}

/** An entry for a row from before the log, and the salt of the row. */
export type Imported = NewLogEntry & { id: number; salt: Buffer };

/** Commits to rows that have no salts. */
export function importRows<Kind extends SaltedKind>(kind: Kind, rows: readonly SaltedRows[Kind][]): Imported[] {
  return rows.map((row) => {
    const { salt, content } = commitTo(kind, contentOf(kind, row));
    const entry = formatEntry({ ...creationOf(kind, row, content), imported: true });
    return { id: row.id, salt, item: kind, item_id: row.id, entry };
  });
}

/** The entry of a row's creation. @param content the commitment to the text that it had */
export function creationOf(kind: SaltedKind, row: Created, content: string): Entry {
  const { id, created_at, post_id = 0, parent_id = null } = row;
  const ts = timeOf(created_at);
  if (kind === "comment") return { type: "comment", id, content, ts, post: post_id, parent: parent_id };
  return { type: kind, id, content, ts };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

function add(unit: Unit, item: SaltedKind, item_id: number, entry: Entry): void {
  unit.entries = [...(unit.entries ?? []), { item, item_id, entry: formatEntry(entry) }];
}
