// Tables with one row, and what calls answer while such a row is damaged.
import { beforeAll, describe, expect, it } from "vitest";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { oneRowTables } from "../../src/store/tables/one-row.ts";
import { operate } from "../operator/support.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { beginTestLog } from "../support/log.ts";
import { type Agent, type Moderated, spam, startModerated } from "../support/moderation.ts";
import { asOperator, refusal } from "./support.ts";

type Row = Record<string, string | number | null>;

let service: Moderated;
let author: Agent;
let books = 0;
export const fsck = async () => (await operate(service.db.config, ["fsck"])).out;

/** To be called before each file's tests. */
export function useOneRowTables(): void {
  beforeAll(begin);
}

async function begin(): Promise<void> {
  const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };
  const db = await createDatabaseWithSchema();
  await beginTestLog(db);
  service = await startModerated({ db, config: { metrics } });
  author = await service.register();
  await seal();
  await removePost();
  await service.db.rows("REPLACE INTO search_rounds VALUES (1, 0)");
  await service.rest("/house/verify?from=0");
  await fsck();
}

export function seal() {
  books += 1;
  const request = { book: `book ${books}`, session: "2026-01-05", note: "a note", source: "feed:test" };
  return service.connect(LedgerOperatorService, "grpc").sealSession(request, asOperator);
}

async function removePost() {
  const id = await service.post(author);
  return service.operator.remove({ postId: BigInt(id), reason: spam });
}

/** The failures of everything that reads a row of these tables, apart from the refusals that have their reason. */
async function failures(): Promise<unknown[]> {
  const failed: unknown[] = [];
  for (const call of [seal, removePost]) {
    const outcome = await call().then(
      () => undefined,
      (error: unknown) => refusal(Promise.reject(error)),
    );
    if (outcome !== undefined && outcome.error !== "unavailable") failed.push(outcome);
  }
  const reads = ["/readyz", "house/receipts", "house/receipts/1", "/house/verify?from=0", "moderations"];
  const read = async (path: string) => {
    const { status, body } = await service.rest(path);
    if (status !== 200 && (status !== 503 || body.error !== "unavailable")) failed.push({ path, status, body });
  };
  const readMetrics = async () => {
    const { status } = await fetch(service.app.metricsUrl as string);
    if (status !== 200) failed.push({ metrics: status });
  };
  await Promise.all([...reads.map(read), readMetrics()]);
  return failed;
}

/** Runs `work` while the rows of a table are other ones. What calls have written meanwhile stays. */
export async function withDamage(table: string, statement: string, work: () => Promise<void>): Promise<void> {
  const read = () => service.db.rows<Row>(`SELECT * FROM ${table}`);
  const right = await read();
  await service.db.rows(statement);
  const damaged = JSON.stringify(await read());
  try {
    await work();
  } finally {
    await service.db.rows(`DELETE FROM ${table} WHERE id <> 1`);
    const left = await read();
    if (left.length === 0 || JSON.stringify(left) === damaged) {
      await service.db.rows(`DELETE FROM ${table}`);
      // The service may have written the row anew.
      for (const row of right) await service.db.pool.query(`REPLACE INTO ${table} SET ?`, [row]);
    }
  }
}

/** Values that no version of Stoa stores, for each type. */
function damagedValues(value: unknown): string[] {
  if (typeof value === "number") return ["-1", "9007199254740993", "9223372036854775807", String(value + 1_000)];
  return ["''", "'2026-13-99'", "'{'", "'null'", "REPEAT('0', 64)"];
}

/** Damages the row of each of these tables in every way. */
export function keepsServing(isTested: (table: string) => boolean): void {
  describe.each(oneRowTables.filter(isTested))("%s", (table) => {
    it("gives no 500 while its row is damaged or missing", async () => {
      const [row] = await service.db.rows<Row>(`SELECT * FROM ${table} WHERE id = 1`);
      expect(row).toBeDefined();
      const changes = Object.entries(row as Row).flatMap(([column, value]) =>
        damagedValues(value).map((to) => [column, to]),
      );
      for (const [column, to] of changes) {
        const statement = `UPDATE IGNORE ${table} SET ${column} = ${to}`;
        await withDamage(table, statement, async () =>
          expect({ statement, failed: await failures() }).toEqual({ statement, failed: [] }),
        );
      }
      await withDamage(table, `DELETE FROM ${table}`, async () => expect(await failures()).toEqual([]));
    });

    it("has one row: fsck finds another id, and a second row", async () => {
      await withDamage(table, `UPDATE ${table} SET id = 3`, async () => {
        expect(await fsck()).toContain(`${table}.id id 3: the id is not 1`);
      });
      const columns = Object.keys((await service.db.rows<Row>(`SELECT * FROM ${table}`))[0] as Row).filter(
        (name) => name !== "id",
      );
      const second = `INSERT INTO ${table} (id, ${columns}) SELECT 2, ${columns} FROM ${table}`;
      await withDamage(table, second, async () => {
        expect(await fsck()).toContain(`${table}.id id 2: the id is not 1`);
      });
    });
  });
}
