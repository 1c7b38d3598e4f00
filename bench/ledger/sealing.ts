import { create } from "@bufbuild/protobuf";
import type { RowDataPacket } from "mysql2/promise";
import { LedgerOperatorService, SealSessionRequestSchema } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import type { DatabaseConfig } from "../../src/config/config.ts";
import { dateOf } from "../../src/ledger/calendar.ts";
import type { Call } from "../cases.ts";
import type { Child } from "../child.ts";
import { openAdmin, startService } from "../environment.ts";
import { runLoad } from "../load.ts";
import { MemoryWatch } from "../memory.ts";
import { concurrency, type Options } from "../options.ts";
import { protocols } from "../protocols.ts";
import { missedMemory } from "../report.ts";
import { openServer, recreate } from "../seed-database.ts";
import type { Outcome } from "./verification.ts";

/** More sessions than a second can seal, so that no session is sealed twice. */
const maxPerSecond = 5_000;
const token = "bench-operator-token-of-32-characters-or-more";

/** Seals sessions over gRPC on a separate chain, first with one caller, then with many. Verifies the chain afterwards. */
export async function measureSealing(address: DatabaseConfig, options: Options, signal: AbortSignal): Promise<Outcome> {
  await using cleanUp = new AsyncDisposableStack();
  const server = cleanUp.use(openServer(address));
  await recreate(server.pool, address.database);
  cleanUp.defer(async () => void (await server.pool.query(`DROP DATABASE \`${address.database}\``)));
  const service = await startService(address, { ...options, profile: false }, signal, { STOA_OPERATOR_TOKEN: token });
  cleanUp.defer(() => service.stop());
  const memory = new MemoryWatch(service.pid);
  cleanUp.defer(() => memory.stop());

  const run = sealer(service, signal);
  await run(concurrency, options.warmUpSeconds);
  const lines: Outcome["lines"] = [];
  for (const callers of [1, concurrency]) {
    memory.takeRecent();
    const { perSecond, p50, p99 } = await run(callers, options.seconds * options.rounds);
    const name = callers === 1 ? "seal, one by one" : `seal, ${callers} at once`;
    lines.push({ case: name, protocol: "grpc", perSecond, p50, p99, residentMiB: memory.takeRecent() });
  }
  const sealed = await checkChain(address, service, signal);
  return {
    lines,
    notes: [`seal: the chain of ${sealed.receipts} receipts verifies; ${sealed.durability}`],
    missed: missedMemory(memory.peak()),
  };
}

function sealer({ url }: Child, signal: AbortSignal) {
  const { encode } = protocols.find(({ name }) => name === "grpc") as (typeof protocols)[number];
  const session = dateOf(Date.now());
  let books = 0;
  return async (callers: number, seconds: number) => {
    const each = Math.ceil((maxPerSecond * seconds) / callers);
    const requests = Array.from({ length: callers }, () =>
      Array.from({ length: each }, () => encode(sealCall(`bench-${++books}`, session))),
    );
    const round = await runLoad("grpc", { url, seconds, requests, signal });
    if (round.failed > 0) throw new Error(`${round.failed} seals failed: ${round.failures.join("; ")}`);
    return round;
  };
}

function sealCall(book: string, session: string): Call {
  const body = { book, session, note: "Sealed by the bench.", source: `https://books.example/${book}/${session}` };
  const evidence = { entries: 42, opened: 1, closed: 43 };
  return {
    // Only RPC reaches the operator's service.
    rest: { method: "POST", path: "/" },
    rpc: {
      method: LedgerOperatorService.method.sealSession,
      message: create(SealSessionRequestSchema, { ...body, evidence }),
    },
    key: token,
  };
}

/** Checks that the chain contains every sealed session and verifies. */
async function checkChain(address: DatabaseConfig, { url }: Child, signal: AbortSignal) {
  const response = await fetch(`${url}/house/verify?from=1`, { signal });
  const { verify_ok, count, reason } = (await response.json()) as Record<string, unknown>;
  const admin = openAdmin(address);
  try {
    const [rows] = await admin.query<RowDataPacket[]>(
      `SELECT (SELECT COUNT(*) FROM ledger_sessions) AS sessions, (SELECT COUNT(*) FROM receipts) AS receipts,
        @@innodb_flush_log_at_trx_commit AS flush`,
    );
    const { sessions, receipts, flush } = rows[0] as RowDataPacket;
    if (!verify_ok || Number(count) !== receipts || receipts !== sessions + 1) {
      throw new Error(`The sealed chain of ${receipts} receipts for ${sessions} sessions does not verify: ${reason}`);
    }
    const durability =
      flush === 1
        ? "each commit is on the disk"
        : `innodb_flush_log_at_trx_commit is ${flush}: commits are not durable`;
    return { receipts: receipts as number, durability };
  } finally {
    await admin.end();
  }
}
