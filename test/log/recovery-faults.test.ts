import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import type { SignedTree } from "../../src/log/folder/segments.ts";
import { recoverLog } from "../../src/log/recovery/recover-log.ts";
import { sourceOf } from "../../src/log/recovery/sources.ts";
import type { Database } from "../../src/store/database/database.ts";
import { formatVkey } from "../../src/tlog/notes/key.ts";
import { formatSignerKey } from "../../src/tlog/notes/signer-key.ts";
import { operateWith } from "../operator/support.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { beginTestLog, testOrigin } from "../support/log.ts";
import { urlOf } from "../support/process.ts";
import { startService } from "../support/service.ts";
import { expectToGoOn, publishedLog, restoreBackup } from "./recovery-support.ts";
import { key as logKey, never, temporaryFolder } from "./support.ts";

it("a log whose key is lost ends, and another one begins that names it and has everything that stands", async () => {
  const dataDir = temporaryFolder();
  const db = await createDatabaseWithSchema();
  const lost = await beginTestLog(db);
  const first = await startService({
    db,
    config: { boardLog: { mayBegin: true, origin: undefined, keyText: formatSignerKey(lost) }, dataDir },
  });
  const agent = await first.register("Zeno");
  const { body } = await first.rest("posts", { key: agent.key, body: { title: "A race", body: "one" } });
  await fetch(`${first.url}/api/v1/posts/${body.post.id}/proof`);
  const last = await (await fetch(`${first.url}/log/checkpoint`)).text();
  await first.app.close();
  const origin = "stoa.test/log2";
  const settings = { STOA_DATABASE_URL: urlOf(db.config), STOA_DATA_DIR: dataDir };
  const refused = await operateWith(settings, ["recover", "--log", "--begin-anew", origin]);
  expect([refused.status, refused.notes.join()]).toEqual([2, expect.stringMatching(/has no key: first run keygen/)]);
  await operateWith({ STOA_LOG_ORIGIN: origin }, ["keygen", join(dataDir, "log", "key")]);
  expect((await operateWith(settings, ["recover", "--log", "--begin-anew", testOrigin])).status).toBe(2);
  const anew = () => operateWith(settings, ["recover", "--log", "--begin-anew", origin]);
  // It moves the folder of the old log before the new one begins: the entries, and then the checkpoint.
  for (const [failing, when] of [
    ["entries", "before"],
    ["entries", "after"],
    ["checkpoint", "before"],
    ["checkpoint", "after"],
  ] as const) {
    expect((await whileRenameFails(failing, when, anew)).status).not.toBe(0);
    expect(await db.rows("SELECT origin FROM log_identity")).toEqual([{ origin: testOrigin }]);
  }
  const { status, out } = await anew();
  expect([status, out[1]]).toEqual([
    0,
    expect.stringMatching(/^the log stoa\.test\/log2 has begun: stoa\.test\/log2\+/),
  ]);
  const [row] = await db.rows<{ entry: string }>("SELECT entry FROM log_entries");
  const [, size, root] = last.split("\n");
  expect(JSON.parse(row?.entry ?? "")).toMatchObject({
    origin,
    previous: {
      origin: testOrigin,
      size: Number(size),
      root: Buffer.from(root ?? "", "base64").toString("hex"),
      vkey: formatVkey(lost),
    },
  });
  const again = await startService({ db, config: { dataDir } });
  expect(await (await fetch(`${again.url}/log/checkpoint`)).text()).toMatch(/^stoa\.test\/log2\n1\n/);
  expect(await db.rows("SELECT COUNT(*) AS n FROM posts WHERE salt IS NOT NULL")).toEqual([{ n: 0 }]);
  expect((await db.rows<{ imported: string }>("SELECT imported FROM log_identity"))[0]?.imported).toBe("agent 0");
  expect((await again.rest("/readyz")).body.warning).toBeUndefined();
});

/** Does something while a file or folder cannot be renamed, or no answer comes although it was. */
async function whileRenameFails<T>(name: string, when: "before" | "after", work: () => Promise<T>): Promise<T> {
  const { rename } = promises;
  promises.rename = async (from, to) => {
    const fails = basename(String(to)) === name;
    if (!fails || when === "after") await rename(from, to);
    if (fails) throw Object.assign(new Error("input/output error"), { code: "EIO" });
  };
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    promises.rename = rename;
    syncBuiltinESMExports();
  }
}

/** A database whose transaction number `failing` gets no answer, before or after it has committed. */
function failingAt(db: Database, failing: number, when: string): { db: Database; count: () => number } {
  let count = 0;
  const transaction: Database["transaction"] = async (signal, work, options) => {
    count += 1;
    const fails = count === failing;
    if (fails && when === "before") throw new Error("no answer");
    const result = await db.transaction(signal, work, options);
    if (fails) throw new Error("no answer");
    return result;
  };
  const get = (target: Database, name: string | symbol) => {
    if (name === "transaction") return transaction;
    const value = Reflect.get(target, name, target);
    return typeof value === "function" ? value.bind(target) : value;
  };
  return { db: new Proxy(db, { get }), count: () => count };
}

it("a recovery that fails at any of its transactions leaves the log frozen, and is done by the next one", async () => {
  const board = await publishedLog();
  const folder = await LogFolder.open(join(board.dataDir, "log"), logKey);
  const source = sourceOf(folder, folder.tree as SignedTree);
  const options = { now: () => 0, signal: never };
  for (let failing = 1, isOver = false; !isOver; failing++) {
    for (const when of ["before", "after"]) {
      await restoreBackup(board, 250);
      const { db, count } = failingAt(board.log.db, failing, when);
      const failure = await recoverLog(source, { ...options, db }).catch((error: Error) => error);
      isOver = count() < failing;
      expect(failure instanceof Error).toBe(!isOver);
      const { size, restored } = await board.log.head();
      // It is over for all at once.
      expect([250, 601]).toContain(size);
      expect(restored).toBe(size === 250 ? 1 : 0);
      await recoverLog(source, { ...options, db: board.log.db });
      const head = await board.log.head();
      expect([head.size, head.signed, head.restored]).toEqual([601, 600, 0]);
    }
  }
  folder.close();
  await expectToGoOn(board, 601);
});
