import type { Queryable } from "../../store/database/queryable.ts";
import { compare, type Finding } from "../../store/recount/finding.ts";
import { type LogEntryRow, listLogEntries } from "../../store/tables/log-entries.ts";
import type { LogHead } from "../../store/tables/log-head.ts";
import type { LogIdentity } from "../../store/tables/log-identity.ts";
import { listModerationsAfter } from "../../store/tables/moderations.ts";
import { listReceiptSummaries } from "../../store/tables/receipts.ts";
import { equalBytes, toUtf8 } from "../../tlog/encoding.ts";
import type { Entry, UnknownEntry } from "../../tlog/entries/entry.ts";
import { parseEntry } from "../../tlog/entries/entry-text.ts";
import { TlogError } from "../../tlog/error.ts";
import { appendToTiles } from "../../tlog/tiles/growth.ts";
import { CompactRange } from "../../tlog/tree/compact-range.ts";
import type { Tree } from "../../tlog/tree/proofs.ts";
import type { Range } from "../../tlog/tree/ranges.ts";
import { treeHasher } from "../crypto.ts";
import { itemOf } from "../item-of-entry.ts";
import { isLost, readLostRanges } from "../lost-ranges.ts";
import { entryOfAct, entryOfReceipt } from "../sequencer/pending.ts";
import type { TileCheck } from "./tile-check.ts";

/** How many entries are read at once. */
const portion = 1_024;

/** Reads every entry of a tree: their order, what they are about, acts and receipts against their tables, and the root. */
export class EntriesCheck {
  readonly #db: Queryable;
  readonly #head: LogHead;
  readonly #identity: LogIdentity | undefined;
  readonly #tiles: TileCheck;
  /** The tree of the note, if there is one. */
  readonly #signed: Tree | undefined;
  /** Entries whose rows are lost. */
  #lost: readonly Range[] = [];
  readonly #range = new CompactRange(treeHasher);
  #acts = 0;
  #receipts = 0;
  /** Whether the entries are those of the root. */
  isIntact = true;

  constructor(
    db: Queryable,
    head: LogHead,
    identity: LogIdentity | undefined,
    tiles: TileCheck,
    signed: Tree | undefined,
  ) {
    this.#db = db;
    this.#head = head;
    this.#identity = identity;
    this.#tiles = tiles;
    this.#signed = signed;
  }

  async *run(): AsyncGenerator<Finding, void> {
    const { size } = this.#head;
    this.#lost = await readLostRanges(this.#db);
    while (this.#range.size < size) {
      const from = this.#range.size;
      // The root of the note is computed on the way.
      const to = this.#signed !== undefined && from < this.#signed.size ? this.#signed.size : size;
      const rows = await listLogEntries(this.#db, from, Math.min(portion, to - from));
      const gap = rows.findIndex(({ idx }, at) => idx !== from + at);
      const sound = rows.slice(0, gap === -1 ? rows.length : gap);
      yield* this.#checkRows(sound);
      this.#tiles.add(
        appendToTiles(
          this.#range,
          sound.map(({ entry }) => toUtf8(entry)),
        ),
      );
      yield* this.#tiles.compare(this.#db);
      if (gap !== -1 || rows.length === 0) {
        this.isIntact = false;
        yield { subject: "log_entries", key: { idx: this.#range.size }, problem: "the entry is missing" };
        return;
      }
      if (this.#range.size === this.#signed?.size) yield* this.#checkRoot(this.#signed.root, "log_head.note");
    }
    yield* this.#checkRoot(this.#head.root, "log_head.root");
    yield* compare("log_head.acts", { id: 1 }, this.#head.acts, this.#acts);
    yield* compare("log_head.receipts", { id: 1 }, this.#head.receipts, this.#receipts);
  }

  *#checkRoot(root: Uint8Array, subject: string): Generator<Finding, void> {
    if (equalBytes(this.#range.root(), root)) return;
    this.isIntact = false;
    const problem = `it is not the root of the ${this.#range.size} entries: one of these was changed, or the root`;
    yield { subject, key: { id: 1 }, problem };
  }

  async *#checkRows(rows: readonly LogEntryRow[]): AsyncGenerator<Finding, void> {
    const acts: LogEntryRow[] = [];
    const receipts: LogEntryRow[] = [];
    for (const row of rows) {
      const entry = parse(row);
      const key = { idx: row.idx };
      if (entry === undefined) {
        yield { subject: "log_entries.entry", key, problem: "it is no entry" };
        continue;
      }
      const about = itemOf(entry);
      if (about !== undefined) {
        yield* compare("log_entries.item", key, row.item, about.item);
        yield* compare("log_entries.item_id", key, row.item_id, about.id);
      }
      if ((entry.type === "log") !== (row.idx === 0)) {
        yield { subject: "log_entries.entry", key, problem: "an entry of type log is the first one, and no other is" };
      }
      if (entry.type === "log") yield* this.#checkIdentity(entry);
      // The tables lack the rows of lost entries, so these do not count for the positions of acts and receipts.
      if (isLost(this.#lost, row.idx)) continue;
      if (entry.type === "act") acts.push(row);
      if (entry.type === "receipt") receipts.push(row);
    }
    yield* this.#checkRecords(acts, receipts);
  }

  *#checkIdentity({ origin, vkey, ts }: Extract<Entry, { type: "log" }>): Generator<Finding, void> {
    const key = { id: 1 };
    if (this.#identity === undefined) {
      yield { subject: "log_identity", key, problem: "the row is missing" };
      return;
    }
    yield* compare("log_identity.origin", key, this.#identity.origin, origin);
    yield* compare("log_identity.vkey", key, this.#identity.vkey, vkey);
    yield* compare("log_identity.begins_at", key, this.#identity.beginsAt, Date.parse(ts));
  }

  /** Acts and receipts stand in the log in the order of their tables, each once. */
  async *#checkRecords(acts: readonly LogEntryRow[], receipts: readonly LogEntryRow[]): AsyncGenerator<Finding, void> {
    const beginsAt = this.#identity?.beginsAt ?? 0;
    if (acts.length > 0) {
      const rows = await listModerationsAfter(this.#db, this.#acts, this.#acts + acts.length, acts.length);
      const right = new Map(rows.map((row) => [row.id, entryOfAct(row, beginsAt)?.entry]));
      for (const { idx, entry } of acts) yield* differs(idx, entry, right.get(++this.#acts), `act ${this.#acts}`);
    }
    if (receipts.length > 0) {
      const rows = await listReceiptSummaries(this.#db, this.#receipts, receipts.length);
      const right = new Map(rows.map((row) => [row.seq, entryOfReceipt(row, beginsAt)?.entry]));
      for (const { idx, entry } of receipts) {
        yield* differs(idx, entry, right.get(++this.#receipts), `receipt ${this.#receipts}`);
      }
    }
  }
}

function* differs(idx: number, entry: string, right: string | undefined, what: string): Generator<Finding, void> {
  if (entry !== right) yield { subject: "log_entries.entry", key: { idx }, problem: `it differs from ${what}` };
}

function parse({ entry }: LogEntryRow): Entry | UnknownEntry | undefined {
  try {
    return parseEntry(toUtf8(entry));
  } catch (error) {
    if (error instanceof TlogError) return undefined;
    throw error;
  }
}
