// Checks the board's log: docs/fsck-columns.md lists what each column is compared with.
import { StoredDamage } from "../../errors.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { compare, type Finding, leftOut, type Outcome, unrepaired } from "../../store/recount/finding.ts";
import { findEntryBehindHead } from "../../store/recount/log.ts";
import { type LogHead, readLogHead } from "../../store/tables/log-head.ts";
import { type LogIdentity, readLogIdentity } from "../../store/tables/log-identity.ts";
import { listOutbox, type OutboxRow } from "../../store/tables/log-outbox.ts";
import { toUtf8 } from "../../tlog/encoding.ts";
import { parseEntry } from "../../tlog/entries/entry-text.ts";
import { TlogError } from "../../tlog/error.ts";
import { openCheckpoint } from "../../tlog/notes/checkpoint.ts";
import { parseVkey } from "../../tlog/notes/key.ts";
import type { Tree } from "../../tlog/tree/proofs.ts";
import { sha256, verifyEd25519 } from "../crypto.ts";
import { checkCommitments, checkDeletions, checkRemovedTexts } from "./commitment-check.ts";
import { EntriesCheck } from "./entries-check.ts";
import { checkFolder } from "./folder-check.ts";
import { repairTile, TileCheck } from "./tile-check.ts";

/** An entry of the outbox that is older than this, in milliseconds, is a finding. */
const maxWaitMs = 60_000;
/** How many rows of the outbox are looked at. */
const maxOutboxRows = 100;

/**
 * Checks that the entries have no gaps and lead to the root and to the signed note, that tiles follow from them, that acts and
 * receipts are in the log up to its positions, that each text agrees with its newest commitment, that nothing waits for
 * long, and the log folder, if there is one. Services may write meanwhile. Its memory is bounded.
 * @param db a reader whose statements may take long
 * @param repairIn the database in which tiles are written, and texts are added that are not in the log; without it nothing is
 * changed
 * @param options.folder the log folder of a replica
 * @param options.note is told if it is the folder of another log
 * @param options.now milliseconds since 1970 (UTC)
 * @throws StoaError `unavailable`; the reason of `signal`
 */
export async function* checkLog(
  db: Queryable,
  signal: AbortSignal,
  { folder, now, note }: { folder: string; now: () => number; note: (line: string) => void },
  repairIn?: Database,
): AsyncGenerator<Outcome, void> {
  try {
    const head = await readLogHead(db);
    const identity = await readLogIdentity(db);
    if (head.size === 0 && identity === undefined) return;
    yield* checkTree(db, signal, repairIn, head, identity);
    const isImported = identity?.imported === "";
    yield* checkCommitments(db, signal, isImported, repairIn);
    yield* unrepaired(checkRemovedTexts(db));
    yield* unrepaired(checkDeletions(db));
    yield* unrepaired(checkOutbox(db, now()));
    if (identity !== undefined) yield* unrepaired(checkFolder(folder, db, identity, signal, note));
  } catch (error) {
    if (!(error instanceof StoredDamage)) yield { finding: leftOut("log_entries", error), repaired: false };
    else yield { finding: { subject: "log_head", key: { id: 1 }, problem: error.message }, repaired: false };
  }
}

async function* checkTree(
  db: Queryable,
  signal: AbortSignal,
  repairIn: Database | undefined,
  head: LogHead,
  identity: LogIdentity | undefined,
): AsyncGenerator<Outcome, void> {
  const tiles = new TileCheck();
  const signed = await readNote(head, identity);
  const note = "root" in signed ? signed : undefined;
  if ("subject" in signed) yield { finding: signed, repaired: false };
  const entries = new EntriesCheck(db, head, identity, tiles, note);
  yield* unrepaired(entries.run());
  yield* unrepaired(tiles.compareRest(db));
  const behind = await findEntryBehindHead(db);
  if (behind !== undefined) {
    const finding = { subject: "log_entries", key: { idx: behind }, problem: "the head does not cover the entry" };
    yield { finding, repaired: false };
  }
  yield* unrepaired(checkPosition(identity, head));
  for (const { finding, tile } of tiles.wrong) {
    const repairing = entries.isIntact ? repairIn : undefined;
    const repaired = (await repairing?.transaction(signal, (tx) => repairTile(tx, tile, head.size))) ?? false;
    yield { finding, repaired };
  }
}

/** @returns the tree of the note, nothing if there is no note, or what is wrong with it */
async function readNote(
  { note, signed }: LogHead,
  identity: LogIdentity | undefined,
): Promise<Tree | Finding | Record<never, never>> {
  const key = { id: 1 };
  if (note === null || identity === undefined) return {};
  try {
    const vkey = await parseVkey(identity.vkey, sha256);
    const { checkpoint } = await openCheckpoint(toUtf8(note), [vkey], verifyEd25519);
    const [finding] = compare("log_head.signed", key, signed, checkpoint.size);
    return finding ?? { size: checkpoint.size, root: checkpoint.root };
  } catch (error) {
    if (!(error instanceof TlogError)) throw error;
    return { subject: "log_head.note", key, problem: error.message };
  }
}

async function* checkPosition(identity: LogIdentity | undefined, { restored }: LogHead): AsyncGenerator<Finding, void> {
  const key = { id: 1 };
  if (restored !== 0 && restored !== 1) yield { subject: "log_head.restored", key, problem: "it is neither 0 nor 1" };
  if (identity !== undefined && !/^(?:(?:agent|community|post|comment) \d{1,16})?$/.test(identity.imported)) {
    yield { subject: "log_identity.imported", key, problem: "it is no position of the import" };
  }
}

async function* checkOutbox(db: Queryable, now: number): AsyncGenerator<Finding, void> {
  for (const row of await listOutbox(db, Number.MIN_SAFE_INTEGER, maxOutboxRows)) {
    const key = { id: row.id };
    const problem = problemOf(row, now);
    if (problem !== undefined) yield { subject: "log_outbox", key, problem };
  }
}

function problemOf({ item, item_id, entry }: OutboxRow, now: number): string | undefined {
  try {
    const parsed = parseEntry(toUtf8(entry));
    const about =
      "of" in parsed
        ? { item: parsed.of, id: parsed.id }
        : "id" in parsed
          ? { item: parsed.type, id: parsed.id }
          : undefined;
    if (about?.item !== item || about.id !== item_id) return "the entry is about another item";
    const hasWaited = parsed.imported === undefined && Date.parse(parsed.ts) < now - maxWaitMs;
    return hasWaited ? "the entry has waited for over a minute: a replica with the log's key adds it" : undefined;
  } catch (error) {
    if (error instanceof TlogError) return "it is no entry";
    throw error;
  }
}
