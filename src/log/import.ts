import { type Imported, importRows } from "../board/logged/entries.ts";
import type { Database } from "../store/database/database.ts";
import type { Queryable } from "../store/database/queryable.ts";
import { putImported, readLogIdentity } from "../store/tables/log-identity.ts";
import { countOutbox, insertIntoOutbox } from "../store/tables/log-outbox.ts";
import {
  highestId,
  listSaltless,
  lockSaltless,
  putSalts,
  type SaltedKind,
  saltedKinds,
} from "../store/tables/salted-rows.ts";
import type { OutboxWatch } from "./outbox-watch.ts";

/** The import waits while the outbox has this many rows. */
const maxOutbox = 1_024;
const defaultTakeOverMs = 1_000;
/** How many rows one transaction imports at most. Each has 40 KB at most. */
const portion = 128;
/** How many portions one run looks at, at most: the sequencer waits meanwhile. Most rows may be in the log already. */
const maxPortions = 64;

export interface ImportOptions {
  db: Database;
  outbox: Pick<OutboxWatch, "floor">;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  /** From when on every write adds its own entry, in milliseconds since 1970 (UTC). Later rows need no import. */
  settledAt: number;
  /** How long the import stands still before a replica that has not sequenced last takes over, in milliseconds. */
  takeOverMs?: number | undefined;
}

/** How far the import has come: the rows of this kind up to this id, and all rows of the kinds before it. */
interface Position {
  kind: SaltedKind;
  id: number;
}

/**
 * Adds entries for the texts that are older than the log: agents, communities, posts, comments, each in the order of their
 * ids. A text is locked while it gets its salt, so that no edit comes between.
 */
export class Import {
  readonly #options: ImportOptions;
  /** Undefined until it is read, after a failure, and when the import has ended. */
  #position: Position | undefined;
  #hasEnded = false;
  /** Where another replica's import stands, and since when, by `performance.now()`. */
  #seen: { at: string; since: number } | undefined;

  constructor(options: ImportOptions) {
    this.#options = options;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /**
   * Imports rows until the outbox is full, or many rows were looked at.
   * @param goesOn whether this replica has sequenced last. Another one imports only if the import stands still
   * @throws StoaError `unavailable`; the next run goes on
   */
  async run(signal: AbortSignal, goesOn: boolean): Promise<void> {
    const { db, outbox, now, settledAt } = this.#options;
    if (this.#hasEnded || now() < settledAt) return;
    try {
      if (!goesOn && !(await this.#mayTakeOver(signal))) return;
      const waiting = await countOutbox(db.priority.reader(signal), outbox.floor, maxOutbox);
      let isStored = true;
      for (let room = maxOutbox - waiting, left = maxPortions; room > 0 && left > 0; left--) {
        this.#position ??= await this.#readPosition(signal);
        if (this.#position === undefined) break;
        const imported = await this.#step(signal, this.#position);
        room -= imported;
        isStored = imported > 0;
      }
      const reached = textOf(this.#position);
      if (!isStored && reached !== "") await db.transaction(signal, (tx) => putImported(tx, reached));
    } catch (error) {
      // Another replica may have imported, and the outcome of a transaction may be unknown.
      this.#position = undefined;
      throw error;
    }
  }

  /** Whether the import has stood still for `takeOverMs`. */
  async #mayTakeOver(signal: AbortSignal): Promise<boolean> {
    const { takeOverMs = defaultTakeOverMs } = this.#options;
    this.#position = await this.#readPosition(signal);
    const at = textOf(this.#position);
    const now = performance.now();
    if (this.#seen?.at !== at) this.#seen = { at, since: now };
    return now - this.#seen.since >= takeOverMs;
  }

  async #readPosition(signal: AbortSignal): Promise<Position | undefined> {
    const identity = await readLogIdentity(this.#options.db.priority.reader(signal));
    const position = parsePosition(identity?.imported ?? "");
    this.#hasEnded = position === undefined;
    return position;
  }

  /** Looks at the next rows, and imports those that lack a salt. @returns how many */
  async #step(signal: AbortSignal, { kind, id }: Position): Promise<number> {
    const { db } = this.#options;
    const rows = await listSaltless(db.longReader(signal), kind, id, portion);
    const last = rows.at(-1)?.id;
    const next = last === undefined ? following(kind) : { kind, id: last };
    const lacking = rows.filter(({ lacks }) => lacks === 1).map((row) => row.id);
    const imported = lacking.length === 0 ? [] : await this.#import(signal, kind, lacking, textOf(next));
    if (next === undefined) await db.transaction(signal, (tx) => putImported(tx, ""));
    this.#position = next;
    this.#hasEnded = next === undefined;
    return imported.length;
  }

  #import(signal: AbortSignal, kind: SaltedKind, ids: readonly number[], position: string): Promise<Imported[]> {
    return this.#options.db.transaction(signal, async (tx) => {
      const imported = importRows(kind, await lockSaltless(tx, kind, ids));
      await putSalts(tx, kind, imported);
      await insertIntoOutbox(tx, imported);
      await putImported(tx, position);
      return imported;
    });
  }
}

/** How many rows the import still has to look at, at most: it counts ids, and these have gaps. */
export async function importRowsLeft(db: Queryable): Promise<number> {
  const position = parsePosition((await readLogIdentity(db))?.imported ?? "");
  if (position === undefined) return 0;
  let left = -position.id;
  for (const kind of saltedKinds.slice(saltedKinds.indexOf(position.kind))) left += await highestId(db, kind);
  return Math.max(left, 0);
}

function parsePosition(text: string): Position | undefined {
  const [kind, id] = text.split(" ");
  const known = saltedKinds.find((each) => each === kind);
  return known && { kind: known, id: Number(id) };
}

function following(kind: SaltedKind): Position | undefined {
  const next = saltedKinds[saltedKinds.indexOf(kind) + 1];
  return next && { kind: next, id: 0 };
}

function textOf(position: Position | undefined): string {
  return position === undefined ? "" : `${position.kind} ${position.id}`;
}
