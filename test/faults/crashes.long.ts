import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { createPool, type RowDataPacket } from "mysql2/promise";
import { describe, expect, it, onTestFinished } from "vitest";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { asOperator, operatorToken, verifyLedger } from "../ledger/support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const sealers = 6;

/** Seals sessions from many callers without a pause, and remembers what was requested and what was acknowledged. */
class Load {
  readonly asked = new Set<string>();
  /** The hash of the receipt by book. */
  readonly acknowledged = new Map<string, string>();
  #round = 0;

  /** Seals until `stop` resolves. The kills cause failures. */
  async run(url: string, stop: Promise<unknown>): Promise<void> {
    const round = ++this.#round;
    let stopped = false;
    void stop.then(() => {
      stopped = true;
    });
    const worker = async (number: number) => {
      const client = createClient(LedgerOperatorService, createGrpcTransport({ baseUrl: url }));
      for (let count = 1; !stopped; count++)
        await this.seal(client, `round ${round}, sealer ${number}, ${count}`).catch(() => {});
    };
    await Promise.all(Array.from({ length: sealers }, (_, number) => worker(number)));
  }

  async seal(client: { sealSession: Sealer }, book: string): Promise<void> {
    this.asked.add(book);
    const { receipt } = await client.sealSession({ book, session: "2026-01-05", source: "feed:load" }, asOperator);
    this.acknowledged.set(book, receipt?.hash as string);
  }

  /** Repeats every request that was not acknowledged: each session is either sealed already or sealed now. */
  async settle(url: string): Promise<void> {
    const client = createClient(LedgerOperatorService, createGrpcTransport({ baseUrl: url }));
    for (const book of this.asked) {
      if (this.acknowledged.has(book)) continue;
      await this.seal(client, book).catch((error) => expect(String(error)).toContain("[already_exists]"));
    }
  }

  /** Checks that the chain verifies, has each acknowledged receipt, and no book twice. */
  async check(db: TestDatabase): Promise<string[]> {
    const documents = await verifyLedger(db);
    const rows = await db.rows<{ seq: number; hash: string }>("SELECT seq, hash FROM receipts ORDER BY seq");
    const books = documents.filter(({ body }) => body.type === "session").map(({ book }) => book as string);
    expect(new Set(books).size).toBe(books.length);
    const hashes = new Map(documents.map(({ book, seq }) => [book, rows[seq - 1]?.hash]));
    for (const [book, hash] of this.acknowledged) expect([book, hashes.get(book)]).toEqual([book, hash]);
    return books;
  }

  /** Resolves when some more receipts have been acknowledged. */
  more(): Promise<void> {
    const goal = this.acknowledged.size + 10;
    return waitUntil("receipts to be sealed", () => this.acknowledged.size >= goal);
  }
}

type Sealer = ReturnType<typeof createClient<typeof LedgerOperatorService>>["sealSession"];

describe("sealing under load", () => {
  it("survives kill -9 of the service: each acknowledged receipt exists once", async () => {
    const db = await createTestDatabase();
    const dataDir = mkdtempSync(join(tmpdir(), "stoa-test-crashes-"));
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    const environment = {
      STOA_DATABASE_URL: urlOf(db.config),
      STOA_OPERATOR_TOKEN: operatorToken,
      STOA_DATA_DIR: dataDir,
    };
    const load = new Load();
    for (let round = 0; round < 2; round++) {
      const service = new ServiceProcess(environment);
      onTestFinished(() => service.end("SIGKILL"));
      const running = load.run(await service.url(), service.exited);
      await load.more();
      await service.end("SIGKILL");
      await running;
      // The open transactions of the dead service end when the server notices. Until then the head may be locked.
      await load.check(db);
    }
    const service = new ServiceProcess(environment);
    onTestFinished(() => service.end("SIGKILL"));
    const url = await service.url();
    await load.settle(url);
    expect((await load.check(db)).sort()).toEqual([...load.asked].sort());
    expect((await askRest(url, "/house/verify")).body.verify_ok).toBe(true);
    await service.end("SIGINT");
  });

  it("survives kill -9 of the database server: the service continues with its replacement", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "stoa-crash-"));
    const service = new ServiceProcess({ STOA_DATA_DIR: dataDir, STOA_OPERATOR_TOKEN: operatorToken });
    onTestFinished(async () => {
      await service.end("SIGINT");
      rmSync(dataDir, { recursive: true });
    });
    const url = await service.url();
    // The record of the running server; see running-server.ts.
    const server = () =>
      JSON.parse(readFileSync(join(dataDir, "mysql.json"), "utf8")) as { pid: number; socketFolder: string };
    const load = new Load();
    const stop = Promise.withResolvers<void>();
    const running = load.run(url, stop.promise);
    await load.more();
    const { pid } = server();
    process.kill(pid, "SIGKILL");
    await waitUntil("the next server", () => server().pid !== pid);
    expect(service.output).toMatch(/"level":"error",.*"msg":"the database server ended unexpectedly \(SIGKILL\)/);
    await load.more();
    stop.resolve();
    await running;
    await load.settle(url);
    expect((await askRest(url, "/house/verify")).body.verify_ok).toBe(true);
    expect((await askRest(url, "/readyz")).body).toEqual({ ok: true });

    const config = { socketPath: join(server().socketFolder, "server.sock"), user: "root", database: "stoa" };
    const pool = createPool(config);
    const rows = async <Row>(sql: string) => (await pool.query<RowDataPacket[]>(sql))[0] as Row[];
    expect((await load.check({ config, pool, rows })).sort()).toEqual([...load.asked].sort());
    await pool.end();
  });
});
