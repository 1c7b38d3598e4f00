// Migrations that are interrupted at any point, and the lease that a migration holds meanwhile.
import { readFileSync } from "node:fs";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { migrate, withLease } from "../../../src/store/schema/migrate.ts";
import { schemaState } from "../../../src/store/schema/migration-records.ts";
import { describeSchema } from "../../../src/store/schema/schema-dump.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { waitUntil } from "../../support/wait.ts";

const { signal } = new AbortController();
const log = () => {};

let test: TestDatabase;
let db: Database;
beforeEach(async () => {
  test = await createTestDatabase();
  db = new Database({ address: test.config, connections: 2 });
  const opened = db;
  onTestFinished(() => opened.close());
});

function fakeIntervals(): void {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
}

/** A database whose every write fails twice: the first time before it takes effect, the second time after that. */
function failingTwice(db: Database): Database {
  const tries = new Map<string, number>();
  const attempt = async <Result>(what: string, run: () => Promise<Result>): Promise<Result> => {
    const count = (tries.get(what) ?? 0) + 1;
    tries.set(what, count);
    if (count === 1) throw new Error(`interrupted before ${what}`);
    const result = await run();
    if (count === 2) throw new Error(`interrupted after ${what}`);
    return result;
  };
  const failing: Pick<Database, "reader" | "transaction" | "runDdl"> = {
    reader: (signal) => db.reader(signal),
    runDdl: (signal, sql) => attempt(sql, () => db.runDdl(signal, sql)),
    transaction: (signal, work) =>
      db
        .transaction(signal, async (tx) => {
          let written = "";
          const result = await work({
            rows: (sql, params) => tx.rows(sql, params),
            runAtCommit: (sql) => tx.runAtCommit(sql),
            run: (sql, params = []) => {
              // Taking and giving back the lease is not part of the migration.
              written = sql.includes("schema_lease") ? "" : `${sql} ${params.join(" ")}`;
              return tx.run(sql, params);
            },
          });
          return { written, result };
        })
        .then(({ written, result }) => (written === "" ? result : afterwards(written, result))),
  };
  const afterwards = async <Result>(written: string, result: Result): Promise<Result> => {
    const count = (tries.get(written) ?? 0) + 1;
    tries.set(written, count);
    if (count === 1) throw new Error(`interrupted after ${written}`);
    return result;
  };
  return failing as Database;
}

it("a migration that is interrupted before and after each of its writes ends with the recorded schema", async () => {
  const failing = failingTwice(db);
  let interruptions = 0;
  for (;;) {
    const outcome = await migrate(failing, { log }).catch((error: Error) => error.message);
    if (outcome === undefined) break;
    expect(outcome).toContain("interrupted");
    interruptions++;
    expect(await schemaState(db)).not.toMatchObject({ kind: "other" });
  }
  expect(interruptions).toBeGreaterThan(1);
  expect(await schemaState(db)).toEqual({ kind: "current" });
  const expected = readFileSync(new URL("../../../src/store/schema/schema.txt", import.meta.url), "utf8");
  expect(await describeSchema(db.reader(signal))).toBe(expected);
  expect(await test.rows("SELECT name FROM communities")).toEqual([{ name: "general" }]);
  expect(await test.rows("SELECT holder FROM schema_lease")).toEqual([{ holder: "" }]);
});

it("a lease is renewed every five seconds while its work runs, and given back when the work fails", async () => {
  fakeIntervals();
  const secondsLeft = async () => {
    const [row] = await test.rows<{ left: number }>(
      "SELECT CAST(expires_at - UNIX_TIMESTAMP() AS SIGNED) AS `left` FROM schema_lease WHERE holder <> ''",
    );
    return Number(row?.left);
  };
  const failed = withLease({ db, signal }, async () => {
    for (let renewal = 1; renewal <= 2; renewal++) {
      await test.rows("UPDATE schema_lease SET expires_at = UNIX_TIMESTAMP() + 1");
      vi.advanceTimersByTime(4_999);
      expect(await secondsLeft()).toBeLessThanOrEqual(1);
      vi.advanceTimersByTime(1);
      await waitUntil("the renewal", async () => (await secondsLeft()) > 2);
    }
    throw new Error("the work failed");
  });
  await expect(failed).rejects.toThrow("the work failed");
  // Nobody renews it any more.
  vi.advanceTimersByTime(10_000);
  expect(await test.rows("SELECT holder, expires_at FROM schema_lease")).toEqual([{ holder: "", expires_at: 0 }]);
});

it("a lease that another process has taken over is neither renewed nor given back", async () => {
  fakeIntervals();
  await withLease({ db, signal }, async () => {
    await test.rows("UPDATE schema_lease SET holder = 'another', expires_at = 7");
    const renewed = vi.spyOn(db, "transaction");
    vi.advanceTimersByTime(5_000);
    await renewed.mock.results[0]?.value;
  });
  expect(await test.rows("SELECT holder, expires_at FROM schema_lease")).toEqual([
    { holder: "another", expires_at: 7 },
  ]);
});
