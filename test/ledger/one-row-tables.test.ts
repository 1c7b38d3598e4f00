// Tables with one row: what calls answer while the row is damaged or missing, and what fsck finds.
import { expect, it } from "vitest";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { oneRowTables } from "../../src/store/tables/one-row.ts";
import { operate } from "../operator/support.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { beginTestLog } from "../support/log.ts";
import { spam, startModerated } from "../support/moderation.ts";
import { asOperator, refusal } from "./support.ts";

type Row = Record<string, string | number | null>;

let books = 0;
const fsck = async () => (await operate(service.db.config, ["fsck"])).out;

const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };
const db = await createDatabaseWithSchema();
await beginTestLog(db);
const service = await startModerated({ db, config: { metrics } });
const sealing = service.connect(LedgerOperatorService, "grpc");
const author = await service.register();
await seal();
await removePost();
await service.db.rows("REPLACE INTO search_rounds VALUES (1, 0)");
await service.rest("/house/verify?from=0");
await fsck();

function seal() {
  books += 1;
  const request = { book: `book ${books}`, session: "2026-01-05", note: "a note", source: "feed:test" };
  return sealing.sealSession(request, asOperator);
}

async function removePost() {
  const id = await service.post(author);
  return service.operator.remove({ postId: BigInt(id), reason: spam });
}

/** The failures of everything that reads a row of these tables, apart from the refusals that have their reason. */
async function failures(): Promise<unknown[]> {
  const failed: unknown[] = [];
  const write = async (call: () => Promise<unknown>) => {
    const outcome = await call().then(
      () => undefined,
      (error: unknown) => refusal(Promise.reject(error)),
    );
    if (outcome !== undefined && outcome.error !== "unavailable") failed.push(outcome);
  };
  const read = async (path: string) => {
    const { status, body } = await service.rest(path);
    if (status !== 200 && (status !== 503 || body.error !== "unavailable")) failed.push({ path, status, body });
  };
  const readMetrics = async () => {
    const { status } = await fetch(service.app.metricsUrl as string);
    if (status !== 200) failed.push({ metrics: status });
  };
  const reads = ["/readyz", "house/receipts", "/house/verify?from=0", "moderations"];
  await Promise.all([write(seal), write(removePost), ...reads.map(read), readMetrics()]);
  return failed;
}

/** Runs `work` while the rows of a table are other ones. What calls have written meanwhile stays. */
async function withDamage(table: string, statement: string, work: () => Promise<void>): Promise<void> {
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

/** The statements that damage each column: numbers that are too small and too large, and a date that does not exist. */
async function damageOf(table: string): Promise<string[]> {
  const [{ id: _, ...row }] = (await service.db.rows<Row>(`SELECT * FROM ${table} WHERE id = 1`)) as [Row];
  return Object.entries(row).flatMap(([column, value]) =>
    (typeof value === "number" ? ["-1", "9223372036854775807"] : ["'2026-13-99'"]).map(
      (to) => `UPDATE IGNORE ${table} SET ${column} = ${to}`,
    ),
  );
}

it.each(["hash = REPEAT('1', 64)", "seq = seq + 1000", "seq = seq - 1"])(
  "no receipt follows a wrong head: %s",
  async (change) => {
    await withDamage("ledger_head", `UPDATE ledger_head SET ${change}`, async () => {
      expect(await refusal(seal())).toEqual({ code: "Unavailable", error: "unavailable" });
    });
    await seal();
  },
);

it.each(oneRowTables)("a damaged or missing row of %s gives no 500", async (table) => {
  for (const statement of [...(await damageOf(table)), `DELETE FROM ${table}`]) {
    await withDamage(table, statement, async () =>
      expect({ statement, failed: await failures() }).toEqual({ statement, failed: [] }),
    );
  }
});

it("fsck finds a row of another id, and a missing row, in every table", async () => {
  const damageAll = (tables: readonly string[], work: () => Promise<void>): Promise<void> => {
    const [table, ...others] = tables;
    if (table === undefined) return work();
    return withDamage(table, `UPDATE ${table} SET id = 3`, () => damageAll(others, work));
  };
  await damageAll(oneRowTables, async () => {
    const found = await fsck();
    for (const table of oneRowTables) expect(found).toContain(`${table}.id id 3: the id is not 1`);
    for (const table of ["ledger_head", "ledger_epoch", "moderation_head"])
      expect(found).toContainEqual(expect.stringMatching(`^${table}.*: the row is missing`));
  });
});
