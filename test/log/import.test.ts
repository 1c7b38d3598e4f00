import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BoardLog } from "../../src/log/board-log.ts";
import { importRowsLeft } from "../../src/log/import.ts";
import { makeKey } from "../../src/log/key-file.ts";
import { Database } from "../../src/store/database/database.ts";
import { formatSignerKey, type SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { afterFile } from "../support/after-file.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../support/database.ts";
import {
  type AnyEntry,
  beginTestLog,
  entriesOf,
  faultsOfLog,
  type LogReplica,
  startLogReplica,
  testOrigin,
  tickUntil,
  untilPublished,
} from "../support/log.ts";
import { type Moderated, spam, startModerated } from "../support/moderation.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { entryText } from "./sequenced-log.ts";

const { signal } = new AbortController();

const identity = async (db: TestDatabase) =>
  (await db.rows<{ imported: string }>("SELECT imported FROM log_identity"))[0]?.imported;

/** Runs a replica until the import has ended. */
const importAll = (db: TestDatabase, replica: LogReplica) =>
  tickUntil("the end of the import", replica, async () => (await identity(db)) === "" && replica.import.hasEnded);

/** Whether everything that is said has its index. */
async function isSequenced(db: TestDatabase): Promise<boolean> {
  const [row] = await db.rows<{ rest: number }>(
    `SELECT (SELECT COUNT(*) FROM log_outbox) + (SELECT newest FROM moderation_head) + (SELECT seq FROM ledger_head)
       - (SELECT acts + receipts FROM log_head) AS rest`,
  );
  return Number(row?.rest) === 0;
}

/** Sequences the rest. @returns what is wrong with the log then */
async function faultsAtTheEnd(db: TestDatabase, replica: LogReplica): Promise<string[]> {
  await tickUntil("an index for everything", replica, () => isSequenced(db));
  return faultsOfLog(db);
}

/** Agents, communities, posts and comments, directly in the database, without the log. */
async function fill(db: TestDatabase, posts: number, comments = posts): Promise<void> {
  await db.pool.query(
    "INSERT INTO agents (id, name, name_key, bio, key_hash, created_at) VALUES (1, 'Zeno', 'zeno', 'é', REPEAT('a', 32), 5)",
  );
  const rows = (count: number, row: (id: number) => unknown[]) => Array.from({ length: count }, (_, at) => row(at + 1));
  await db.pool.query("INSERT INTO posts (id, community_id, author_id, title, body, created_at) VALUES ?", [
    rows(posts, (id) => [id * 2, 1, 1, `Post ${id}`, "", id]),
  ]);
  await db.pool.query("INSERT INTO comments (id, post_id, parent_id, author_id, body, created_at) VALUES ?", [
    rows(comments, (id) => [id, 2, id === 1 ? null : 1, 1, `Comment ${id}`, id]),
  ]);
}

// Each has a database of its own, for which they mostly wait.
describe.concurrent("the import", () => {
  it("imports what stands: neither what is removed nor an agent that is erased", async () => {
    const db = await createDatabaseWithSchema();
    const service: Moderated = await startModerated({ db });
    const [author, erased] = [await service.register("Zeno"), await service.register("Diodorus")];
    await service.found(author, "porch");
    const [kept, removed] = [await service.post(author), await service.post(author)];
    const [comment, gone] = [await service.comment(author, kept), await service.comment(author, removed)];
    await service.rest(`posts/${kept}`, { method: "PATCH", key: author.key, body: { title: "Edited" } });
    await service.operator.remove({ postId: BigInt(removed), reason: spam, keepForDays: 1n });
    await service.operator.remove({ commentId: BigInt(gone), reason: spam });
    await service.operator.eraseAgent({ name: erased.name, reason: spam });
    await service.app.close();
    const key = await beginTestLog(db, Date.now());
    const replica = await startLogReplica(db.config, key);
    expect(await importRowsLeft(replica.db.reader(signal))).toBeGreaterThanOrEqual(4);
    await importAll(db, replica);
    expect(await importRowsLeft(replica.db.reader(signal))).toBe(0);
    expect(await faultsAtTheEnd(db, replica)).toEqual([]);
    const [first, ...entries]: AnyEntry[] = await entriesOf(db);
    expect(first.type).toBe("log");
    const texts = entries.filter(({ content }) => content !== undefined);
    expect(texts.every(({ imported }) => imported)).toBe(true);
    expect(texts.filter(({ type }) => type === "post").map(({ id }) => id)).toEqual([kept]);
    expect(texts.filter(({ type }) => type === "comment").map(({ id }) => id)).toEqual([comment]);
    // Receipts and acts from before are there as well, each once.
    expect(entries.filter(({ type }) => type === "act").map(({ act }) => act)).toEqual(["remove", "remove", "erase"]);
    expect(entries.filter(({ type }) => type === "receipt").map(({ seq, imported }) => [seq, imported])).toEqual([
      [1, true],
    ]);
  });

  it("no proof waits for the deletion of what the log never had, although it has an act about it", async () => {
    const db = await createDatabaseWithSchema();
    const before = await startModerated({ db });
    const author = await before.register();
    const post = await before.post(author);
    await before.operator.lock({ postId: BigInt(post) });
    await before.rest(`posts/${post}`, { method: "DELETE", key: author.key });
    await before.app.close();
    // The import of a log that has just begun waits for 30 s.
    const keyText = formatSignerKey(await beginTestLog(db, Date.now() - 31_000));
    const service = await startService({ db, config: { boardLog: { mayBegin: true, origin: undefined, keyText } } });
    await untilPublished(service);
    expect((await entriesOf(db)).map(({ act }) => act)).toContain("lock");
    expect(await service.rest(`posts/${post}/proof?of=removal`)).toMatchObject({ status: 404 });
  });

  it("edits and deletions while it runs agree with the log", async () => {
    const db = await createDatabaseWithSchema();
    await fill(db, 300);
    const key = await beginTestLog(db);
    const service = await startModerated({ db });
    const author = await service.register();
    await db.pool.query("UPDATE posts SET author_id = (SELECT id FROM agents ORDER BY id DESC LIMIT 1)");
    const replica = await startLogReplica(db.config, key);
    const change = async (from: number, to: number) => {
      for (let id = from; id > to; id -= 3) {
        const [method, body] = id % 5 === 0 ? ["DELETE", undefined] : ["PATCH", { body: `Edited ${id}` }];
        const { status } = await service.rest(`posts/${id * 2}`, { method, key: author.key, body });
        expect(status).toBe(200);
      }
    };
    // Some come before the import and some after it, however quick each of both is.
    await change(300, 280);
    const importing = importAll(db, replica);
    await change(280, 20);
    await importing;
    await change(20, 0);
    expect(await faultsAtTheEnd(db, replica)).toEqual([]);
    const entries = await entriesOf(db);
    expect(entries.some(({ type }) => type === "edit")).toBe(true);
    expect(entries.filter(({ type }) => type === "post").length).toBeLessThan(300);
  });

  it("goes on where it stood after a failure, and another replica takes over", async () => {
    const db = await createDatabaseWithSchema();
    await fill(db, 300);
    const key: SignerKey = await beginTestLog(db);
    const [first, second] = [await startLogReplica(db.config, key), await startLogReplica(db.config, key)];
    await db.pool.query(
      "CREATE TRIGGER fails BEFORE UPDATE ON posts FOR EACH ROW IF OLD.id = 400 THEN SIGNAL SQLSTATE '45000'; END IF",
    );
    await expect(first.import.run(signal, true)).rejects.toThrow();
    expect(await identity(db)).toBe("post 256");
    await db.pool.query("DROP TRIGGER fails");
    await second.import.run(signal, false);
    expect(await identity(db)).toBe("post 256");
    await importAll(db, second);
    expect(await faultsAtTheEnd(db, second)).toEqual([]);
    expect((await entriesOf(db)).filter(({ type }) => type === "post")).toHaveLength(300);
  });

  it("a run ends among rows that are in the log already, and another replica goes on from there", async () => {
    const db = await createDatabaseWithSchema();
    await fill(db, 1, 9_000);
    await db.pool.query("UPDATE comments SET salt = REPEAT('s', 16)");
    const key = await beginTestLog(db);
    const replica = await startLogReplica(db.config, key);
    await replica.import.run(signal, true);
    expect([await identity(db), replica.import.hasEnded]).toEqual([
      expect.stringMatching(/^comment [78]\d\d\d$/),
      false,
    ]);
    await importAll(db, await startLogReplica(db.config, key));
  });

  it("of a log that begins while the board serves, it waits for the writes that began before", async () => {
    const db = await createDatabaseWithSchema();
    const database = new Database({ address: db.config, connections: 4 });
    afterFile(() => database.close());
    const path = scratchFolder();
    // As long as this is there, no log begins.
    writeFileSync(join(path, "checkpoint"), "a note\n");
    let now = Date.now();
    const key = await makeKey(testOrigin);
    const options = { db: database, path, now: () => now, origin: undefined, key, mayBegin: true, hasReplicas: false };
    const ignored = { onLog: () => {}, log: { info: () => {}, warn: () => {}, error: () => {} } };
    const log = await BoardLog.open({ ...options, ...ignored, lookMs: { identity: 20 } }, signal);
    afterFile(() => log.stop());
    rmSync(join(path, "checkpoint"));
    await waitUntil("the log", () => log.current !== undefined);
    // The import runs after each run of the sequencer.
    for (const id of [1, 2]) {
      await db.pool.query("INSERT INTO log_outbox (item, item_id, entry) VALUES ('comment', ?, ?)", [
        id,
        entryText(id),
      ]);
      await waitUntil("its entry", async () => (await db.rows("SELECT id FROM log_outbox")).length === 0);
    }
    expect(await identity(db)).toBe("agent 0");
    now += 30_000;
    await waitUntil("the end of the import", async () => (await identity(db)) === "");
  });

  it("waits while the outbox is full", async () => {
    const db = await createDatabaseWithSchema();
    await fill(db, 1500);
    const key = await beginTestLog(db);
    const replica = await startLogReplica(db.config, key);
    const waiting = async () => Number((await db.rows<{ n: number }>("SELECT COUNT(*) AS n FROM log_outbox"))[0]?.n);
    for (let times = 0; times < 3; times++) await replica.import.run(signal, true);
    expect(await waiting()).toBeGreaterThanOrEqual(1024);
    expect(await waiting()).toBeLessThan(1024 + 128);
  });
});
