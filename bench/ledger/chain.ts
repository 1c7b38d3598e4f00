// Makes a long valid chain with the service's functions, in a transaction that stores nothing.
import { dateOf, dayMs } from "../../src/ledger/calendar.ts";
import { sealGenesis } from "../../src/ledger/sealing/genesis.ts";
import { type SessionInput, sealSession } from "../../src/ledger/sealing/session.ts";
import { zeroHash } from "../../src/receipt/document.ts";
import type { Tx } from "../../src/store/database/queryable.ts";
import type { Head, ReceiptRow } from "../../src/store/tables/receipts.ts";
import { textOf } from "../population.ts";

const spanMs = 2 * 365 * dayMs;
/** More books than receipts in a day, so that no book has two sessions on one date. */
const books = 1_500;

export interface MadeReceipt {
  row: ReceiptRow;
  /** The time, in milliseconds since 1970 (UTC). */
  ts: number;
  /** The day or session that it seals; undefined for receipt 1. */
  session: Pick<SessionInput, "book" | "session"> | undefined;
}

/** Returns the date of city_day 1 for a chain that ends at `end`. */
export function epochOf(end: number): string {
  return dateOf(end - spanMs);
}

/** Yields receipts from seq 1, spread evenly over two years up to `end`. */
export async function* makeChain(receipts: number, end: number): AsyncGenerator<MadeReceipt> {
  const tx = new PaperTransaction();
  const epoch = epochOf(end);
  for (let seq = 1; seq <= receipts; seq++) {
    const now = Math.floor(end - spanMs + (spanMs * (seq - 1)) / receipts);
    const input = sessionOf(seq, now);
    const sealing = { tx, now, epoch, blockReason: undefined };
    const row = seq === 1 ? await sealGenesis(sealing) : await sealSession(sealing, input);
    if (row === undefined) throw new Error("The chain is not empty.");
    tx.head = { seq, hash: row.hash, ts: now };
    yield { row, ts: now, session: seq === 1 ? undefined : input };
  }
}

function sessionOf(seq: number, now: number): SessionInput {
  const book = `bench-${seq % books}`;
  const session = dateOf(now);
  return {
    book,
    session,
    note: textOf(seq, 80),
    source: `https://books.example/${book}/${session}`,
    evidence: { entries: seq % 97, opened: seq, closed: seq + 41, summary: textOf(seq + 3, 120) },
    actor: { agent: "operator", seat: "desk" },
  };
}

/** A transaction that returns the head and stores nothing. */
class PaperTransaction implements Tx {
  head: Head = { seq: 0, hash: zeroHash, ts: 0 };

  async rows<Row>(): Promise<Row[]> {
    return [this.head as Row];
  }

  async run(): Promise<{ affectedRows: number; insertId: number }> {
    return { affectedRows: 1, insertId: 0 };
  }

  runAtCommit(): void {}
}
