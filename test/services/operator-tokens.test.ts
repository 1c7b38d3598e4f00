// Named tokens of internal services: what each may do, whom receipts name, and how the file is read again.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type CallOptions, Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { contractServices } from "../../scripts/lib/contract.ts";
import { readOperatorTokens } from "../../src/config/operator-tokens.ts";
import { rulesOf } from "../../src/contract/rules.ts";
import { asOperator, operatorToken, refusal } from "../ledger/support.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";

const path = join(scratchFolder(), "tokens.json");
const tokenOf = (name: string) => `token-of-${name}`.padEnd(40, "x");
const as = (name: string, more: Record<string, string> = {}): CallOptions => ({
  headers: { authorization: `Bearer ${tokenOf(name)}`, ...more },
});
const write = (entries: object[], mode = 0o600) => writeFileSync(path, JSON.stringify(entries), { mode });
const entry = (name: string, ...rights: string[]) => ({ name, token: tokenOf(name), rights });

write([
  { ...entry("exchange", "seal:metals", "seal:grain"), seat: "floor" },
  entry("sealer", "seal"),
  entry("moderator", "moderate"),
  entry("reader", "read reports"),
]);
const operatorTokens = { path, tokens: readOperatorTokens(path, []) };
const service = await startService({ config: { operatorToken, operatorTokens } });

const session = { book: "metals", session: "2026-01-05", source: "feed:test" };
const ledger = () => service.connect(LedgerOperatorService, "grpc");

/** The one token of each RPC. The others of ModerationService are the moderator's. */
const holders: Record<string, string> = {
  ...Object.fromEntries(ModerationService.methods.map(({ name }) => [name, "moderator"])),
  ...Object.fromEntries(["SealSession", "SealSessions", "SealDaily"].map((name) => [name, "sealer"])),
  ListReports: "reader",
};

it("every RPC for operators needs one right, and refuses a token without it before it reads the request", async () => {
  const rpcs = (await contractServices()).flatMap(({ methods }) => methods);
  const ofOperators = rpcs.filter((rpc) => rulesOf(rpc).access === Access.OPERATOR);
  expect(ofOperators.map(({ name }) => name).sort()).toEqual(Object.keys(holders).sort());
  const agent = await service.register();
  for (const rpc of ofOperators) {
    for (const name of ["sealer", "moderator", "reader", "an agent", "nobody"]) {
      const key = name === "an agent" ? agent.key : tokenOf(name);
      const headers = {
        "content-type": "application/json",
        ...(name === "nobody" ? {} : { authorization: `Bearer ${key}` }),
      };
      const url = `${service.url}/${rpc.parent.typeName}/${rpc.name}`;
      const { code } = (await (await fetch(url, { method: "POST", headers, body: "[]" })).json()) as { code: string };
      const refusal = Object.values(holders).includes(name) ? "permission_denied" : "unauthenticated";
      const expected = holders[rpc.name] === name ? "invalid_argument" : refusal;
      expect([rpc.name, name, code]).toEqual([rpc.name, name, expected]);
    }
  }
});

describe("a token for books", () => {
  it("seals their sessions alone, and the receipt names its holder", async () => {
    const { receipt } = await ledger().sealSession(session, as("exchange"));
    expect(receipt?.document?.actor).toMatchObject({ agent: "exchange", seat: "floor" });
    const forbidden = { code: "PermissionDenied", error: "forbidden" };
    expect(await refusal(ledger().sealSession({ ...session, book: "wool" }, as("exchange")))).toEqual(forbidden);
    const some = ["metals", "grain", "wool"].map((book) => ({ ...session, book, session: "2026-01-04" }));
    const of = { ...forbidden, field: "sessions[2]" };
    expect(await refusal(ledger().sealSessions({ sessions: some }, as("exchange")))).toEqual(of);
    const { receipts } = await ledger().sealSessions({ sessions: some.slice(0, 2) }, as("exchange"));
    expect(receipts.map(({ document }) => document?.actor)).toEqual([
      { agent: "exchange", seat: "floor" },
      { agent: "exchange", seat: "floor" },
    ]);
    expect(await refusal(ledger().sealDaily({ date: "2026-01-05" }, as("exchange")))).toEqual(forbidden);
  });

  it("seals for nobody else", async () => {
    const grain = { ...session, book: "grain" };
    const bad = { code: "InvalidArgument", error: "bad_input" };
    const other = ledger().sealSession({ ...grain, actorAgent: "another" }, as("exchange"));
    expect(await refusal(other)).toEqual({ ...bad, field: "actor_agent" });
    const elsewhere = ledger().sealSession({ ...grain, actorSeat: "desk" }, as("exchange"));
    expect(await refusal(elsewhere)).toEqual({ ...bad, field: "actor_seat" });
    const same = await ledger().sealSession({ ...grain, actorAgent: "exchange", actorSeat: "floor" }, as("exchange"));
    expect(same.receipt?.document?.actor).toMatchObject({ agent: "exchange", seat: "floor" });
  });
});

it("idempotency keys belong to their tokens", async () => {
  const key = { "idempotency-key": "0123456789-abcdef" };
  const seal = (book: string, options: CallOptions) => ledger().sealSession({ ...session, book }, options);
  const { receipt } = await seal("copper", as("sealer", key));
  expect((await seal("copper", as("sealer", key))).receipt?.hash).toBe(receipt?.hash);
  const single = { headers: { ...asOperator.headers, ...key } };
  expect(await refusal(seal("copper", single))).toMatchObject({ error: "exists" });
  expect((await seal("tin", single)).receipt?.document?.actor).toMatchObject({ agent: "operator", seat: "desk" });
});

it("the one token of before may do everything", async () => {
  const moderation = service.connect(ModerationService, "connect");
  expect((await moderation.listReports({}, asOperator)).reports).toEqual([]);
  expect((await moderation.listErasures({}, asOperator)).erasures).toEqual([]);
  const named = { ...session, book: "wool", actorAgent: "another", actorSeat: "there" };
  const { receipt } = await ledger().sealSession(named, asOperator);
  expect(receipt?.document?.actor).toMatchObject({ agent: "another", seat: "there" });
});

describe("the file, read again", () => {
  const codeFor = async (name: string) => {
    const call = service.connect(ModerationService, "connect").listReports({}, as(name));
    return call.then(
      () => "ok",
      (error) => Code[ConnectError.from(error).code],
    );
  };

  it("gives and takes rights at once", async () => {
    write([entry("moderator", "read reports", "moderate"), entry("fresh", "read reports")]);
    service.app.readTokensAgain();
    expect([await codeFor("moderator"), await codeFor("fresh")]).toEqual(["ok", "ok"]);
    expect(await codeFor("reader")).toBe("Unauthenticated");
    expect(service.log).toContainEqual(expect.objectContaining({ operatorTokens: ["moderator", "fresh"] }));
  });

  it("changes nothing where it cannot be used, and the log says why", async () => {
    write([entry("late", "read reports"), { ...entry("late", "read reports") }]);
    service.app.readTokensAgain();
    expect([await codeFor("moderator"), await codeFor("late")]).toEqual(["ok", "Unauthenticated"]);
    const why = "STOA_OPERATOR_TOKENS_FILE names a file in which two entries have the same name.";
    expect(service.log).toContainEqual(expect.objectContaining({ level: 50, why }));
  });
});
