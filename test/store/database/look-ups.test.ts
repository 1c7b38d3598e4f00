// Look-ups of single rows, whose callers share statements.
import { expect, it, onTestFinished } from "vitest";
import { Database, type LookUp } from "../../../src/store/database/database.ts";
import { createTestDatabase } from "../../support/database.ts";

const never = new AbortController().signal;
/** How many statements run at a time. */
const concurrency = 2;
const size = 4;

const test = await createTestDatabase();
await test.rows("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(9) NOT NULL)");
await test.rows("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four'), (5, 'five'), (6, 'six')");

interface Held {
  find: LookUp<number, string>;
  /** The keys of each statement so far. */
  statements: number[][];
  letGo(): void;
}

/** A look-up whose statements wait to be let go. */
function hold(timeoutMs?: number): Held {
  const db = new Database({ address: test.config, connections: 8, timeoutMs });
  onTestFinished(() => db.close());
  const gate = Promise.withResolvers<void>();
  const statements: number[][] = [];
  const find = db.lookUp<number, string>(size, async (rows, keys) => {
    statements.push(keys);
    await gate.promise;
    const places = keys.map(() => "?").join();
    const found = await rows.rows<{ id: number; name: string }>(`SELECT id, name FROM t WHERE id IN (${places})`, keys);
    return new Map(found.map(({ id, name }) => [id, name]));
  });
  return { find, statements, letGo: gate.resolve };
}

it("each caller gets the row of its key, or nothing, and those that wait share statements", async () => {
  const { find, statements, letGo } = hold();
  const keys = [1, 2, 3, 4, 5, 99, 6, 3, 1];
  const found = Promise.all(keys.map((key) => find(never, key)));
  expect(statements).toEqual([[1], [2]]);
  letGo();
  expect(await found).toEqual(["one", "two", "three", "four", "five", undefined, "six", "three", "one"]);
  // A key that a statement reads already is read again for who comes later: the answer must not be older than the question.
  expect(statements).toEqual([[1], [2], [3, 4, 5, 99], [6, 1]]);
});

it("a caller that gives up, or has no time left, fails alone", async () => {
  const { find, statements, letGo } = hold(2_000);
  const running = Array.from({ length: concurrency }, (_, index) => find(never, 1 + index));
  const leaving = new AbortController();
  const left = [find(leaving.signal, 3), find(leaving.signal, 4)];
  const late = expect(find(never, 5)).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  leaving.abort(new Error("gone"));
  for (const each of left) await expect(each).rejects.toThrow("gone");
  await late;
  for (const each of running) await expect(each).rejects.toMatchObject({ code: "unavailable" });
  letGo();
  const next = await Promise.all([find(never, 6), find(never, 1)]);
  expect(next).toEqual(["six", "one"]);
  // Nobody waits for these any more, so no statement reads them.
  expect(statements.flat()).not.toContain(4);
});

it("a statement that fails, fails its callers alone", async () => {
  const db = new Database({ address: test.config, connections: 8 });
  onTestFinished(() => db.close());
  const find = db.lookUp<number, string>(size, async (rows, keys) => {
    const table = keys.includes(2) ? "nothing" : "t";
    const found = await rows.rows<{ id: number; name: string }>(`SELECT id, name FROM ${table} WHERE id = ?`, [
      keys[0] as number,
    ]);
    return new Map(found.map(({ id, name }) => [id, name]));
  });
  const [first, second, third] = await Promise.allSettled([1, 2, 3].map((key) => find(never, key)));
  expect([first, third]).toMatchObject([{ value: "one" }, { value: "three" }]);
  expect(second).toMatchObject({ status: "rejected" });
});
