import { commitmentOf, contentOf } from "../../board/logged/commitments.ts";
import { notFound, StoaError } from "../../errors.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import {
  findLogEntry,
  findNewestLogEntry,
  hasMoreLogEntries,
  type LogEntryRow,
} from "../../store/tables/log-entries.ts";
import { mayBeInOutbox } from "../../store/tables/log-outbox.ts";
import { findReceipt } from "../../store/tables/receipts.ts";
import { findRemovedComment } from "../../store/tables/removed-comments.ts";
import { findRemovedPost } from "../../store/tables/removed-posts.ts";
import { findSaltedRow, type SaltedKind } from "../../store/tables/salted-rows.ts";
import { toUtf8 } from "../../tlog/encoding.ts";
import { formatContent, isContentKind } from "../../tlog/entries/content.ts";
import { parseEntry } from "../../tlog/entries/entry-text.ts";
import { TlogError } from "../../tlog/error.ts";
import { commitmentOf as commitmentIn } from "../../tlog/proofs/expected-item.ts";
import { formatExtra, type ProofExtra } from "../../tlog/proofs/extra.ts";
import { formatProof } from "../../tlog/proofs/tlog-proof.ts";
import { findStandingEntry, readLostRanges } from "../lost-ranges.ts";
import type { OutboxWatch } from "../outbox-watch.ts";
import type { PublishedTree, Waiter } from "../publisher/published-tree.ts";
import { damagedEntry, type PublishedTiles } from "./published-tiles.ts";

/** How long a proof waits for its entry to be published, in milliseconds. */
const waitMs = 5_000;
/** How many of the newest entries of an item are searched for its text or removal. An agent may make any number of edits. */
const maxEntries = 10_000;
/** How many rows of the outbox are searched for an item. It has more only where the log has been frozen for long. */
const maxOutbox = 10_000;

/** The newest entry of an item, and whether a newer one is on its way. */
interface Found {
  entry: LogEntryRow | undefined;
  /** The text that the entry commits to, if it is shown. */
  text?: ProofExtra["text"];
  /** The commitment of the text that is shown. */
  commitment?: string | undefined;
  /** Whether the entry is the right one. If not, the proof waits for it. */
  isSettled: boolean;
  /** Whether the text that is shown has another commitment than the newest entry. */
  contradicts?: boolean | undefined;
}

export interface ItemProofsOptions {
  db: Database;
  published: PublishedTree;
  tiles: PublishedTiles;
  outbox: Pick<OutboxWatch, "floor">;
  /** Is told whether the text of an item agrees with its newest commitment. @param item such as `post 12` */
  noteCheck(item: string, agrees: boolean): void;
}

/** Proofs of items, for verification offline. */
export class ItemProofs {
  readonly #options: ItemProofsOptions;

  constructor(options: ItemProofsOptions) {
    this.#options = options;
  }

  /** A proof of the newest text of an item. @throws StoaError `not_found`, `rate_limited`, `unavailable` */
  ofText(kind: SaltedKind, id: number, waiter: Waiter): Promise<Uint8Array> {
    return this.#prove(waiter, (db) => this.#findText(db, kind, id));
  }

  /** A proof of the newest removal of a post or comment. @throws StoaError `not_found`, `rate_limited`, `unavailable` */
  ofRemoval(kind: SaltedKind, id: number, waiter: Waiter): Promise<Uint8Array> {
    return this.#prove(waiter, async (db) => {
      const entry = await findNewestLogEntry(db, kind, id, "removal", { among: maxEntries });
      if (entry === undefined && !(await this.#isRemovalExpected(db, kind, id))) {
        await checkAllSeen(db, kind, id, "removes it");
        throw notFound(`The log has no removal of this ${kind}.`);
      }
      return { entry, isSettled: entry !== undefined };
    });
  }

  /** A proof of a receipt. @throws StoaError `not_found`, `rate_limited`, `unavailable` */
  ofReceipt(seq: number, waiter: Waiter): Promise<Uint8Array> {
    return this.#prove(waiter, async (db) => {
      const entry = await findNewestLogEntry(db, "receipt", seq, "any");
      if (entry === undefined && (await findReceipt(db, seq)) === undefined) {
        throw notFound("There is no receipt with this seq.");
      }
      return { entry, isSettled: entry !== undefined };
    });
  }

  /**
   * A proof of an entry, with the text if it commits to one that is shown now.
   * @throws StoaError `not_found`, `rate_limited`, `unavailable`
   */
  ofEntry(index: number, waiter: Waiter): Promise<Uint8Array> {
    return this.#prove(waiter, async (db, size) => {
      const entry = await findLogEntry(db, index);
      if (entry === undefined && index < size) throw damagedEntry(index);
      if (entry === undefined) throw notFound("The log has no entry at this index.");
      const content = contentIn(entry);
      const { item, item_id: id } = entry;
      if (content === undefined || !isContentKind(item)) return { entry, isSettled: true };
      const shown = await shownText(db, item, id);
      return { entry, isSettled: true, text: shown?.commitment === content ? shown.text : undefined };
    });
  }

  /**
   * Looks again with each tree that is published, until what is to be proved is in it.
   * @param find gets the number of entries that were published before it looks
   */
  async #prove(waiter: Waiter, find: (db: Queryable, size: number) => Promise<Found>): Promise<Uint8Array> {
    const { db, published, tiles } = this.#options;
    const endsAt = performance.now() + waitMs;
    for (;;) {
      const { size } = published;
      const reader = db.reader(waiter.signal);
      const { entry, text, isSettled, contradicts = false } = await tiles.unlessLost(reader, find(reader, size));
      if (isSettled && entry !== undefined && entry.idx < published.size) {
        const { hashes, tree } = await tiles.prove(entry);
        const extra = formatExtra({ entry: entry.entry, text });
        return formatProof({ extra, index: entry.idx, hashes, checkpoint: tree.note });
      }
      if (contradicts) {
        const what = `${entry?.item} ${entry?.item_id}`;
        throw new StoaError("unavailable", `The text of ${what} contradicts what the log has committed to.`);
      }
      if (!(await published.exceeds(size, endsAt - performance.now(), waiter))) {
        throw new StoaError("unavailable", "The log does not have this yet.", { retryAfterSeconds: 1 });
      }
    }
  }

  async #findText(db: Queryable, kind: SaltedKind, id: number): Promise<Found> {
    const first = await compare(db, kind, id);
    // A newer entry waits in the outbox, or may just have moved from there to the log.
    const hasMoved = first.contradicts && !(await this.#mayWait(db, kind, id));
    const found = hasMoved ? await compare(db, kind, id) : first;
    // The next edit may have come meanwhile.
    const isSameText = found.commitment === first.commitment;
    const contradicts = hasMoved && isSameText && found.contradicts === true;
    if (contradicts || found.isSettled) this.#options.noteCheck(`${kind} ${id}`, !contradicts);
    return { ...found, contradicts };
  }

  /** Whether an item is removed, and an entry of that will come. None comes if the author deleted what the log never had. */
  async #isRemovalExpected(db: Queryable, kind: SaltedKind, id: number): Promise<boolean> {
    const find = kind === "post" ? findRemovedPost : kind === "comment" ? findRemovedComment : undefined;
    const removed = await find?.(db, id);
    if (removed === undefined) return false;
    if (removed.removed_by !== "author") return true;
    if (await this.#mayWait(db, kind, id)) return true;
    return (await findNewestLogEntry(db, kind, id, "content", { among: maxEntries })) !== undefined;
  }

  /** Whether an entry of an item may be in the outbox. */
  #mayWait(db: Queryable, item: SaltedKind, id: number): Promise<boolean> {
    return mayBeInOutbox(db, this.#options.outbox.floor, { item, id, limit: maxOutbox });
  }
}

/**
 * Checks that an item has no more entries than were searched.
 * @param what the searched entries do not do, for the message
 * @throws StoaError `not_found`
 */
async function checkAllSeen(db: Queryable, kind: SaltedKind, id: number, what: string): Promise<void> {
  if (!(await hasMoreLogEntries(db, kind, id, maxEntries))) return;
  const none = `None of the newest ${maxEntries} entries of this ${kind} ${what}.`;
  throw notFound(`${none} List its entries, and prove one by its index.`);
}

/** Compares the text of an item with its newest entry. @throws StoaError `not_found` if the log does not have it */
async function compare(db: Queryable, kind: SaltedKind, id: number): Promise<Found> {
  const shown = await shownText(db, kind, id);
  let entry = await findNewestLogEntry(db, kind, id, "content", { among: maxEntries });
  if (entry === undefined) await checkAllSeen(db, kind, id, "has a text");
  if (shown === undefined) {
    if (entry === undefined) throw notFound(`The log has no ${kind} with this id.`);
    return { entry, isSettled: true };
  }
  const { text, commitment } = shown;
  if (text === undefined) throw notFound(`This ${kind} is not in the log.`);
  const agreesWith = (each: LogEntryRow | undefined) => each !== undefined && contentIn(each) === commitment;
  // The newest entry may be of an edit that was lost with a restored database.
  if (entry !== undefined && !agreesWith(entry)) entry = (await findBeforeLoss(db, kind, id)) ?? entry;
  const agrees = agreesWith(entry);
  return { entry, text, commitment, isSettled: agrees, contradicts: entry !== undefined && !agrees };
}

async function findBeforeLoss(db: Queryable, kind: SaltedKind, id: number): Promise<LogEntryRow | undefined> {
  const lost = await readLostRanges(db);
  return lost.length === 0 ? undefined : findStandingEntry(db, kind, id, lost, maxEntries);
}

/** The text that is shown of an item; undefined if none is. `text` is undefined if it is not in the log. */
async function shownText(
  db: Queryable,
  kind: SaltedKind,
  id: number,
): Promise<{ text: ProofExtra["text"]; commitment: string | undefined } | undefined> {
  const row = await findSaltedRow(db, kind, id);
  if (row === undefined) return undefined;
  const { salt } = row;
  if (salt === null) return { text: undefined, commitment: undefined };
  const content = formatContent(kind, contentOf(kind, row));
  return { text: { content, salt }, commitment: commitmentOf(salt, content) };
}

/** The commitment of an entry; undefined if it has none. For a damaged entry, too: no proof of it leads to the root. */
function contentIn({ entry }: LogEntryRow): string | undefined {
  try {
    return commitmentIn(parseEntry(toUtf8(entry)));
  } catch (error) {
    if (error instanceof TlogError) return undefined;
    throw error;
  }
}
