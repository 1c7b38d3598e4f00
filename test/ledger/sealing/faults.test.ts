import { pino } from "pino";
import { beforeAll, describe, expect, it } from "vitest";
import { Ledger } from "../../../src/ledger/ledger.ts";
import { Database } from "../../../src/store/database/database.ts";
import type { Param, Tx } from "../../../src/store/database/queryable.ts";
import { afterFile } from "../../support/after-file.ts";
import type { TestDatabase } from "../../support/database.ts";
import { sealBook, startLedger, TestClock, verifyLedger } from "../support.ts";

type Fault = (number: number, id: number, when: "before" | "after") => Promise<void>;

/** The real database, with a fault before or after a statement of a transaction. */
class FaultyDatabase extends Database {
  fault: Fault = async () => {};
  /** Seals run there. */
  override readonly priority: Database["priority"] = {
    reader: (signal) => this.reader(signal),
    transaction: (signal, work) => this.transaction(signal, work),
  };

  override transaction<T>(signal: AbortSignal, work: (tx: Tx) => Promise<T>): Promise<T> {
    return super.transaction(signal, async (tx) => {
      const [{ id }] = (await tx.rows<{ id: number }>("SELECT CONNECTION_ID() AS id")) as [{ id: number }];
      let statements = 0;
      const around = async <Result>(run: () => Promise<Result>): Promise<Result> => {
        const number = ++statements;
        await this.fault(number, id, "before");
        const result = await run();
        await this.fault(number, id, "after");
        return result;
      };
      return work({
        rows: <Row>(sql: string, params?: readonly Param[]) => around(() => tx.rows<Row>(sql, params)),
        run: (sql, params) => around(() => tx.run(sql, params)),
        runAtCommit: (sql) => tx.runAtCommit(sql),
      });
    });
  }
}

describe("a sealing transaction that fails at any of its statements", () => {
  let db: TestDatabase;
  let database: FaultyDatabase;
  let ledger: Ledger;
  const clock = new TestClock("2026-03-01T12:00:00Z");
  const never = new AbortController().signal;
  beforeAll(async () => {
    const service = await startLedger({ clock });
    db = service.db;
    // Its daily sealing must not seal the days that are sealed here.
    await service.app.close();
    database = new FaultyDatabase({ address: db.config, connections: 2 });
    afterFile(() => database.close());
    ledger = await Ledger.open({ db: database, now: clock.now, log: pino({ level: "silent" }) });
  });

  const session = (book: string) => () => sealBook(ledger, book, "2026-03-01");
  const daily = (date: string) => () => ledger.days.seal(never, date, ({ seq }) => ({ seq }));

  /** Lets `seal` fail before and after each of its statements in turn. @returns the number of statements */
  async function failAtEach(seal: () => Promise<{ seq: number }>): Promise<number> {
    const before = (await verifyLedger(db)).length;
    for (let number = 1; ; number++) {
      for (const when of ["before", "after"]) {
        let killed = false;
        database.fault = async (at, id, moment) => {
          if (at !== number || moment !== when) return;
          await db.rows(`KILL ${id}`);
          killed = true;
        };
        const outcome = await seal().catch((error) => error);
        if (!killed) {
          expect(outcome).toMatchObject({ seq: before + 1 });
          expect(await verifyLedger(db)).toHaveLength(before + 1);
          return number - 1;
        }
        expect(outcome).toMatchObject({ code: "unavailable" });
        expect(await verifyLedger(db)).toHaveLength(before);
      }
    }
  }

  it("leaves nothing of a session behind, and a repeated call seals it once", async () => {
    expect(await failAtEach(session("fails"))).toBeGreaterThan(1);
    await expect(session("fails")()).rejects.toMatchObject({ code: "exists" });
  });

  it("leaves nothing of a day behind, and a repeated call seals it once", async () => {
    clock.set("2026-03-02T12:00:00Z");
    expect(await failAtEach(daily("2026-03-01"))).toBeGreaterThan(1);
    await expect(daily("2026-03-01")()).rejects.toMatchObject({ code: "exists" });
  });

  it.each([1213, 1205])("is repeated and seals once if the server asks for that (error %i)", async (errno) => {
    const before = (await verifyLedger(db)).length;
    let faults = 0;
    database.fault = async (number, _id, when) => {
      if (when === "after" && number === 1 && faults < 4) {
        faults += 1;
        throw Object.assign(new Error("try again"), { errno });
      }
    };
    expect(await session(`tries ${errno}`)()).toMatchObject({ seq: before + 1 });
    expect(faults).toBe(4);
    expect(await verifyLedger(db)).toHaveLength(before + 1);
  });
});
