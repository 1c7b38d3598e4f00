// Several sessions in one call, all or none: what is sealed, what is refused and how, and races through three replicas.
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { LedgerOperatorService } from "../../../gen/stoa/v1/ledger_operator_service_pb.js";
import type { Receipt } from "../../../gen/stoa/v1/receipt_pb.js";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { headsIn } from "../head-guard/support.ts";
import {
  asOperator,
  headSeq,
  type LedgerUnderTest,
  operatorToken,
  refusal,
  type SessionSeed,
  startLedger,
  verifyLedger,
} from "../support.ts";

const dataDir = scratchFolder();

const overrides = { guardStoreMs: 100_000, sealsDays: false };
const service = await startLedger({ config: { dataDir }, overrides });
const { db } = service;
const replicas: [LedgerUnderTest, LedgerUnderTest, LedgerUnderTest] = [
  service,
  await startLedger({ db, overrides }),
  await startLedger({ db, overrides }),
];

const session = (book: string, more: SessionSeed = {}) => ({
  book,
  session: "2026-01-05",
  note: `of ${book}`,
  source: "feed:test",
  ...more,
});
const unique = (count: number) => Array.from({ length: count }, () => session(`book ${randomUUID()}`));

async function sealAll(
  sessions: readonly SessionSeed[],
  { at = service, key }: { at?: LedgerUnderTest; key?: string } = {},
): Promise<{ receipts: Receipt[]; replayed: boolean }> {
  let replayed = false;
  const headers = { ...asOperator.headers, ...(key === undefined ? {} : { "idempotency-key": key }) };
  const onHeader = (sent: Headers) => {
    replayed = sent.get("idempotency-replayed") === "true";
  };
  const client = at.connect(LedgerOperatorService, "grpc");
  const { receipts } = await client.sealSessions({ sessions: [...sessions] }, { headers, onHeader });
  return { receipts, replayed };
}

const count = () => headSeq(db);
const bookOf = ({ document }: Receipt) => document?.book;

describe("several sessions", () => {
  it("get consecutive receipts in the order of the list, each like a single one", async () => {
    const before = await count();
    const [first, , , ...rest] = unique(5);
    const evidence = { rows: 12, nested: { list: [1, null, true] } };
    const sessions = [
      first as SessionSeed,
      session(first?.book as string, { session: "2026-01-04", evidence }),
      session("another", { actorAgent: "auditor", actorSeat: "gallery" }),
      ...rest,
    ];
    const { receipts } = await sealAll(sessions);
    expect(receipts.map(({ seq }) => Number(seq))).toEqual(sessions.map((_, index) => before + 1 + index));
    expect(receipts.map(bookOf)).toEqual(sessions.map(({ book }) => book));
    expect(receipts[1]?.document).toMatchObject({
      evidence: { ...evidence, session: "2026-01-04", source: "feed:test" },
      body: { type: "session", session: "2026-01-04" },
      actor: { agent: "operator", seat: "desk" },
    });
    expect(receipts[2]?.document?.actor).toEqual({ agent: "auditor", seat: "gallery" });
    const documents = await verifyLedger(db);
    expect(documents.slice(before)).toEqual(receipts.map(({ document }) => document));
    const read = await service.rest(`house/receipts/${receipts[3]?.seq}`);
    expect(read.body.receipt).toMatchObject({ hash: receipts[3]?.hash, canonical: receipts[3]?.canonical });
    expect(headsIn(dataDir).at(-1)).toMatchObject({ seq: documents.length, hash: receipts.at(-1)?.hash });
  });

  it("are none if one of them is sealed already, or in the list twice", async () => {
    const [sealed] = unique(1) as [SessionSeed];
    const { seq } = await service.seal(sealed);
    const before = await count();
    const sessions = [...unique(2), sealed, ...unique(1)];
    const field = "sessions[2].session";
    expect(await refusal(sealAll(sessions))).toEqual({ code: "AlreadyExists", error: "exists", field });
    await expect(sealAll(sessions)).rejects.toThrow(`sessions[2]: Receipt ${seq} seals the session`);
    const twice = [...unique(1), session("twice"), ...unique(1), session("twice", { note: "again" })];
    expect(await refusal(sealAll(twice))).toEqual({
      code: "InvalidArgument",
      error: "bad_input",
      field: "sessions[3].session",
    });
    expect(await count()).toBe(before);
    // Nothing is left of those that were not at fault.
    await sealAll([...sessions.slice(0, 2), ...sessions.slice(3)]);
  });

  it("are none if one of them is bad, and the error names it", async () => {
    const before = await count();
    const bad: [string, SessionSeed][] = [
      ["book", { book: "" }],
      ["session", { session: "9999-12-31" }],
      ["actor_seat", { actorSeat: "\u007f" }],
      ["evidence.a.b[1].c", { evidence: { a: { b: [0, { c: 0.5 }] } } }],
      ["evidence", { evidence: { a: "x".repeat(64 * 1024) } }],
    ];
    for (const [field, seed] of bad) {
      expect(await refusal(sealAll([...unique(3), session("bad", seed), ...unique(1)]))).toEqual({
        code: "InvalidArgument",
        error: "bad_input",
        field: `sessions[3].${field}`,
      });
    }
    for (const sessions of [[], unique(101)]) {
      expect(await refusal(sealAll(sessions))).toMatchObject({ error: "bad_input", field: "sessions" });
    }
    expect(await count()).toBe(before);
  });

  it("are sealed once under an idempotency key", async () => {
    const before = await count();
    const sessions = unique(3);
    const key = randomUUID();
    const first = await sealAll(sessions, { key });
    const again = await sealAll(sessions, { key, at: replicas[1] });
    expect([first.replayed, again.replayed]).toEqual([false, true]);
    expect(again.receipts).toEqual(first.receipts);
    expect(await refusal(sealAll(sessions))).toMatchObject({ field: "sessions[0].session" });
    expect(await refusal(sealAll(sessions.toReversed(), { key }))).toMatchObject({ error: "bad_input" });
    expect(await count()).toBe(before + 3);
  });
});

it("a hundred sessions that fill the largest request come back in one reply", async () => {
  const before = await count();
  const sessions = unique(100).map((each) => ({ ...each, evidence: { text: "\u0001".repeat(2_300) } }));
  const { receipts } = await sealAll(sessions);
  expect(receipts.map(bookOf)).toEqual(sessions.map(({ book }) => book));
  expect(await count()).toBe(before + 100);
  const larger = sessions.map((each) => ({ ...each, evidence: { text: "\u0001".repeat(2_600) } }));
  expect(await refusal(sealAll(larger))).toMatchObject({ code: "ResourceExhausted" });
});

it("as JSON, names that may be misread and a wrong token are refused as of a single seal", async () => {
  const ask = async (body: object, token = operatorToken) => {
    const response = await fetch(`${service.url}/stoa.v1.LedgerOperatorService/SealSessions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    });
    const reply = (await response.json()) as { details?: { debug?: { error: string; field?: string } }[] };
    return [response.status, reply.details?.[0]?.debug?.error, reply.details?.[0]?.debug?.field];
  };
  const sessions = [session(randomUUID()), session(randomUUID(), { evidence: { "a\\b": 1 } })];
  expect(await ask({ sessions })).toEqual([400, "bad_input", "sessions[1].evidence.a\\b"]);
  expect(await ask({ sessions: [] }, "wrong")).toEqual([401, "unauthorized", undefined]);
});

describe("calls at once through three replicas", () => {
  const at = (n: number) => replicas[n % 3] as LedgerUnderTest;

  it("make one chain in which the receipts of each call follow each other", async () => {
    const before = await count();
    const lists = Array.from({ length: 9 }, () => unique(7));
    const [replies, singles] = await Promise.all([
      Promise.all(lists.map((sessions, n) => sealAll(sessions, { at: at(n) }))),
      Promise.all(Array.from({ length: 9 }, (_, n) => at(n).seal())),
    ]);
    const documents = await verifyLedger(db);
    expect(documents).toHaveLength(before + 9 * 7 + singles.length);
    for (const [n, { receipts }] of replies.entries()) {
      const start = Number(receipts[0]?.seq);
      expect(documents.slice(start - 1, start + 6)).toEqual(receipts.map(({ document }) => document));
      expect(receipts.map(bookOf)).toEqual(lists[n]?.map(({ book }) => book));
    }
  });

  it("that want the same session seal all of one call, or one session, and nothing of the others", async () => {
    const [wanted] = unique(1) as [SessionSeed];
    const before = await count();
    const fieldOf = async (error: unknown) => (await refusal(Promise.reject(error))).field;
    const outcomes = await Promise.all([
      ...Array.from({ length: 9 }, (_, n) =>
        sealAll([...unique(2), wanted, ...unique(1)], { at: at(n) }).then(({ receipts }) => receipts.length, fieldOf),
      ),
      ...Array.from({ length: 9 }, (_, n) =>
        at(n)
          .seal(wanted)
          .then(() => 1, fieldOf),
      ),
    ]);
    const [won, ...others] = outcomes.filter((each) => typeof each === "number");
    expect([others, await count()]).toEqual([[], before + (won as number)]);
    for (const lost of outcomes) expect([won, "session", "sessions[2].session"]).toContain(lost);
    await verifyLedger(db);
  });
});
