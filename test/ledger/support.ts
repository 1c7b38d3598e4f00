import { createHash, randomBytes } from "node:crypto";
import type { JsonObject } from "@bufbuild/protobuf";
import { type CallOptions, Code, ConnectError } from "@connectrpc/connect";
import canonicalize from "canonicalize";
import type { RowDataPacket } from "mysql2";
import { pino } from "pino";
import { expect } from "vitest";
import { ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import type { Receipt } from "../../gen/stoa/v1/receipt_pb.js";
import { Ledger, type LedgerOptions } from "../../src/ledger/ledger.ts";
import { sealSession } from "../../src/ledger/sealing/session.ts";
import type { TestDatabase } from "../support/database.ts";
import { openStore } from "../support/database.ts";
import { type Service, type ServiceOptions, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

export const operatorToken = "test-operator-token-0123456789-abcdef";
export const asOperator: CallOptions = { headers: { authorization: `Bearer ${operatorToken}` } };
export const protocols = ["grpc", "grpc-web", "connect"] as const;
export type Protocol = (typeof protocols)[number];
export const zeros = "0".repeat(64);

/** A clock that tests move. */
export class TestClock {
  ms: number;

  constructor(time: string) {
    this.ms = Date.parse(time);
  }

  readonly now = (): number => this.ms;

  set(time: string): void {
    this.ms = Date.parse(time);
  }
}

/** What a session is sealed with when a test does not care. */
export interface SessionSeed {
  book?: string;
  session?: string;
  note?: string;
  source?: string;
  evidence?: JsonObject;
  actorAgent?: string;
  actorSeat?: string;
}

/** A service with an operator token, and what the ledger's tests ask of it. */
export interface LedgerUnderTest extends Service {
  /** Seals a session, by gRPC unless told otherwise; a new book each time by default. */
  seal(seed?: SessionSeed, protocol?: Protocol): Promise<Receipt>;
  sealDaily(date: string, protocol?: Protocol): Promise<Receipt>;
}

let books = 0;

export async function startLedger(options: ServiceOptions & { clock?: TestClock } = {}): Promise<LedgerUnderTest> {
  const { clock, ...rest } = options;
  const service = await startService({
    ...rest,
    config: { operatorToken, ...rest.config },
    // Many tests drop the triggers. Readiness would warn of that from the next look at the database on.
    overrides: { databaseLookMs: 3_600_000, ...(clock ? { now: clock.now } : {}), ...rest.overrides },
  });
  const clients = new Map<Protocol, ReturnType<typeof service.connect<typeof LedgerOperatorService>>>();
  const client = (protocol: Protocol) => {
    const known = clients.get(protocol) ?? service.connect(LedgerOperatorService, protocol);
    clients.set(protocol, known);
    return known;
  };
  return {
    ...service,
    async seal(seed = {}, protocol = "grpc") {
      books += 1;
      const request = { book: `book ${books}`, session: "2026-01-05", note: "a note", source: "feed:test", ...seed };
      return (await client(protocol).sealSession(request, asOperator)).receipt as Receipt;
    },
    async sealDaily(date, protocol = "grpc") {
      return (await client(protocol).sealDaily({ date }, asOperator)).receipt as Receipt;
    },
  };
}

/** What a call was refused with: the RPC code, and the code and field of the error detail. */
export async function refusal(call: Promise<unknown>): Promise<{ code: string; error?: string; field?: string }> {
  const caught = await call.then(
    (reply) => {
      throw new Error(`it was not refused: ${JSON.stringify(reply, (_, v) => (typeof v === "bigint" ? `${v}` : v))}`);
    },
    (error: unknown) => error,
  );
  if (!(caught instanceof ConnectError)) throw caught;
  const [detail] = caught.findDetails(ErrorDetailSchema);
  return {
    code: Code[caught.code],
    ...(detail === undefined ? {} : { error: detail.error }),
    ...(detail?.field === undefined ? {} : { field: detail.field }),
  };
}

/** Opens the ledger itself on a database with the schema, without a server or a clock around it. */
export async function openLedger(db: TestDatabase, now: () => number = Date.now, more: Partial<LedgerOptions> = {}) {
  const database = openStore(db, 4);
  const log = pino({ level: "silent" });
  const ledger = await Ledger.open({ db: database, now, log, maxReportAgeMs: 0, ...more });
  return { ledger, database };
}

/** Seals a session by the ledger itself. */
export function sealBook(ledger: Ledger, book: string, session: string, signal = new AbortController().signal) {
  const actor = { agent: "operator", seat: "desk" };
  return ledger.sealer.write(signal, (sealing) =>
    sealSession(sealing, { book, session, note: "", source: "feed:test", evidence: {}, actor }),
  );
}

/** Seals many sessions in a few transactions: `size` is about how long the canonical bytes of each are. */
export async function fill(db: TestDatabase, count: number, size = 400): Promise<void> {
  const { ledger } = await openLedger(db);
  // Random, so that compression makes nothing small.
  const filling = randomBytes(Math.max(0, size - 380))
    .toString("base64")
    .slice(0, size);
  const actor = { agent: "filler", seat: "desk" };
  for (let done = 0; done < count; ) {
    const end = Math.min(count, done + 200);
    await ledger.sealer.write(new AbortController().signal, async (sealing) => {
      for (; done < end; done++) {
        books += 1;
        const input = { session: "2026-01-05", note: "", source: "feed:fill", evidence: { filling }, actor };
        await sealSession(sealing, { book: `book ${books}`, ...input });
      }
    });
  }
}

/** The warning of a service that is ready. It is not while its database says nothing for 5 seconds: then it is asked again. */
export async function warningOf({ rest }: Service): Promise<string | undefined> {
  let warning: string | undefined;
  await waitUntil("readiness", async () => {
    const { status, body } = await rest("/readyz");
    warning = body.warning;
    return status === 200;
  });
  return warning;
}

export interface StoredRow {
  seq: number;
  hash: string;
  prev_hash: string;
  canonical: Buffer;
}

// biome-ignore lint/suspicious/noExplicitAny: documents are read as an independent verifier would, without our types.
export type Document = any;

/**
 * Recomputes the whole chain from the stored rows, with nothing of ours: every hash, link, count, time and city day,
 * the head, and that each date and each session of a book is sealed once, by the receipt that the bookkeeping names.
 */
export async function verifyLedger(db: TestDatabase): Promise<Document[]> {
  // One moment of the database, while it may go on.
  const connection = await db.pool.getConnection();
  const select = async <Row>(sql: string) => (await connection.query<RowDataPacket[]>(sql))[0] as Row[];
  await connection.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  await connection.query("START TRANSACTION WITH CONSISTENT SNAPSHOT");
  const rows = await select<StoredRow>("SELECT seq, hash, prev_hash, canonical FROM receipts ORDER BY seq");
  const [calendar] = await select<{ epoch: string; first_day: string }>("SELECT epoch, first_day FROM ledger_epoch");
  const heads = await select<{ seq: number; hash: string; ts: number }>("SELECT seq, hash, ts FROM ledger_head");
  const sealedDays = await select<{ date: string; seq: number }>("SELECT date, seq FROM ledger_days ORDER BY seq");
  const sealedSessions = await select<{ book: Buffer; session: string; seq: number }>(
    "SELECT book, session, seq FROM ledger_sessions ORDER BY seq",
  );
  await connection.rollback();
  connection.release();

  const documents: Document[] = [];
  const days: unknown[] = [];
  const sessions: unknown[] = [];
  let previous = { hash: zeros, ts: "" };
  for (const [index, row] of rows.entries()) {
    const text = row.canonical.toString("utf8");
    const document: Document = JSON.parse(text);
    const { body } = document;
    const what = `receipt ${index + 1}`;
    expect(Number(row.seq), what).toBe(index + 1);
    expect(row.hash, what).toBe(createHash("sha256").update(row.canonical).digest("hex"));
    expect(canonicalize(document), what).toBe(text);
    expect([row.prev_hash, document.prev_hash, body.head], what).toEqual([previous.hash, previous.hash, previous.hash]);
    expect([document.seq, body.count, document.v, document.kind], what).toEqual([index + 1, index, 1, "seal"]);
    expect(document.ts >= previous.ts, `${what}: ${document.ts} after ${previous.ts}`).toBe(true);
    const day = (date: string) => Date.parse(date.slice(0, 10)) / 86_400_000;
    expect(document.city_day, what).toBe(day(document.ts) - day(calendar?.epoch as string) + 1);
    expect(body.type === "genesis", what).toBe(index === 0);
    if (body.type === "daily") {
      expect(body.head_seq, what).toBe(index);
      days.push({ date: body.date, seq: document.seq });
    }
    if (body.type === "session") {
      sessions.push({ book: document.book, session: body.session, seq: document.seq });
    }
    documents.push(document);
    previous = { hash: row.hash, ts: document.ts };
  }
  expect(heads).toEqual([{ seq: rows.length, hash: previous.hash, ts: Date.parse(previous.ts) }]);
  expect(sealedDays).toEqual(days);
  expect(sealedSessions.map((row) => ({ ...row, book: row.book.toString("utf8") }))).toEqual(sessions);
  return documents;
}

/** Lets a test damage what was sealed: the triggers that refuse it go. */
export async function unlockReceipts(db: TestDatabase): Promise<void> {
  await db.rows("DROP TRIGGER IF EXISTS receipts_are_not_updated");
  await db.rows("DROP TRIGGER IF EXISTS receipts_are_not_deleted");
}

/** Changes the hash of a receipt. @returns a function that restores it */
export async function damageHash(db: TestDatabase, seq: number): Promise<() => Promise<void>> {
  await unlockReceipts(db);
  const [row] = await db.rows<{ hash: string }>("SELECT hash FROM receipts WHERE seq = ?", [seq]);
  await db.rows("UPDATE receipts SET hash = REPEAT('a', 64) WHERE seq = ?", [seq]);
  return async () => {
    // Each start creates the triggers again.
    await unlockReceipts(db);
    await db.rows("UPDATE receipts SET hash = ? WHERE seq = ?", [row?.hash, seq]);
  };
}

/** The seq of the newest receipt. */
export async function headSeq(db: TestDatabase): Promise<number> {
  return (await db.rows<{ seq: number }>("SELECT seq FROM ledger_head"))[0]?.seq as number;
}

export function ledgerClient(service: Service, protocol: Protocol = "grpc") {
  return service.connect(LedgerService, protocol);
}
