// stoa recover --log --begin-anew: a log ends whose key is lost, and another one begins, however often that is interrupted.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import { DataFolderInUse } from "../../src/process/folder-lock.ts";
import { formatVkey } from "../../src/tlog/notes/key.ts";
import { formatSignerKey, type SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { type Outcome, operateWith } from "../operator/support.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../support/database.ts";
import { beginTestLog, testOrigin } from "../support/log.ts";
import { urlOf } from "../support/process.ts";
import { startService } from "../support/service.ts";
import { type At, watchSteps } from "./steps.ts";
import { key, temporaryFolder } from "./support.ts";

const program = fileURLToPath(new URL("./operate-and-die.ts", import.meta.url));
const origin = "stoa.test/log2";
const command = ["recover", "--log", "--begin-anew", origin];

/** A board whose service has stopped, and whose log has a key that is lost. */
interface Ended {
  db: TestDatabase;
  dataDir: string;
  lost: SignerKey;
  /** The newest checkpoint. */
  last: string;
  settings: Record<string, string>;
  operate(...args: string[]): Promise<Outcome>;
}

async function endedLog(): Promise<Ended> {
  const dataDir = temporaryFolder();
  const db = await createDatabaseWithSchema();
  const lost = await beginTestLog(db);
  const boardLog = { mayBegin: true, origin: undefined, keyText: formatSignerKey(lost) };
  const { url, rest, register, app } = await startService({ db, config: { boardLog, dataDir } });
  const author = await register("Zeno");
  const { body } = await rest("posts", { key: author.key, body: { title: "A race", body: "one" } });
  await fetch(`${url}/api/v1/posts/${body.post.id}/proof`);
  await app.close();
  const [head] = await db.rows<{ note: string }>("SELECT note FROM log_head");
  const settings = { STOA_DATABASE_URL: urlOf(db.config), STOA_DATA_DIR: dataDir };
  const operate = (...args: string[]) => operateWith(settings, args);
  return { db, dataDir, lost, last: head?.note ?? "", settings, operate };
}

const makeKey = ({ dataDir }: Ended) =>
  operateWith({ STOA_LOG_ORIGIN: origin }, ["keygen", join(dataDir, "log", "key")]);

async function isOver({ db }: Ended): Promise<boolean> {
  const [identity] = await db.rows<{ origin: string }>("SELECT origin FROM log_identity");
  return identity?.origin === origin;
}

/** Checks that the new log names the old one, and will have everything that stands; and that a service goes on with it. */
async function expectNewLog({ db, dataDir, lost, last }: Ended): Promise<void> {
  const rows = await db.rows<{ entry: string }>("SELECT entry FROM log_entries");
  const [, size, root] = last.split("\n");
  const previous = {
    origin: testOrigin,
    size: Number(size),
    root: Buffer.from(root ?? "", "base64").toString("hex"),
    vkey: formatVkey(lost),
  };
  expect(rows.map(({ entry }) => JSON.parse(entry))).toMatchObject([{ origin, previous }]);
  const { url, rest, app } = await startService({ db, config: { dataDir } });
  expect(await (await fetch(`${url}/log/checkpoint`)).text()).toMatch(/^stoa\.test\/log2\n1\n/);
  expect(await db.rows("SELECT COUNT(*) AS n FROM posts WHERE salt IS NOT NULL")).toEqual([{ n: 0 }]);
  expect(await db.rows("SELECT imported FROM log_identity")).toEqual([{ imported: "agent 0" }]);
  expect((await rest("/readyz")).body.warning).toBeUndefined();
  // Its steps are not those of the next test.
  await app.close();
}

it("needs a new key and a new name", async () => {
  const board = await endedLog();
  const refused = await board.operate(...command);
  expect([refused.status, refused.notes.join()]).toEqual([2, expect.stringMatching(/has no key: first run keygen/)]);
  await makeKey(board);
  expect((await board.operate("recover", "--log", "--begin-anew", testOrigin)).status).toBe(2);
  const { status, out } = await board.operate(...command);
  expect([status, out[1]]).toEqual([
    0,
    expect.stringMatching(/^the log stoa\.test\/log2 has begun: stoa\.test\/log2\+/),
  ]);
  await expectNewLog(board);
});

it("leaves a folder alone that a process uses", async () => {
  const path = temporaryFolder();
  const folder = await LogFolder.open(path, key);
  await expect(LogFolder.archive(path, "before")).rejects.toThrow(DataFolderInUse);
  await expect(LogFolder.discard(path)).rejects.toThrow(DataFolderInUse);
  folder.close();
});

it("is done by the next run after any of its steps has failed, persisted or not", async () => {
  const board = await endedLog();
  await makeKey(board);
  const names = new Set<string>();
  for (let failing = 1; !(await isOver(board)); failing++) {
    for (const when of ["before", "after"]) {
      const fail = (): never => {
        throw Object.assign(new Error("input/output error"), { code: "EIO" });
      };
      const end = await watchSteps((name, number) => {
        if (number !== failing) return undefined;
        names.add(name);
        if (when === "before") fail();
        return { done: fail };
      });
      const { status } = await board.operate(...command);
      expect(end()).toBeGreaterThanOrEqual(failing);
      expect(status).toBe(3);
      // What has been published can still be named.
      const files = readdirSync(join(board.dataDir, "log"), { recursive: true, encoding: "utf8" });
      expect(files.filter((path) => basename(path) === "checkpoint")).toHaveLength(1);
    }
  }
  expect([...names].sort()).toEqual(["rename", "runDdl", "sync", "transaction", "truncate"]);
  await expectNewLog(board);
});

it("is done by the next run after a kill, and until then nothing is added to the log", async () => {
  const board = await endedLog();
  await makeKey(board);
  // The log is frozen, salts are forgotten in six tables, three tables become empty, entries and checkpoint are moved.
  const kills: At[] = [["transaction", 1], ["transaction", 2], ["transaction", 7], ["runDdl", 1], ["runDdl", 2], ["runDdl", 3], ["rename", 1], ["rename", 2], ["transaction", 8]]; // biome-ignore format: one list
  for (const at of kills) {
    const input = JSON.stringify({ settings: board.settings, command, at });
    const { signal, stderr } = spawnSync(process.execPath, [program, input], { encoding: "utf8" });
    expect([at, signal, stderr]).toEqual([at, "SIGKILL", ""]);
    expect(await isOver(board)).toBe(false);
    const [head] = await board.db.rows<{ restored: number }>("SELECT restored FROM log_head");
    expect([at, head?.restored]).toEqual([at, String(at) === "transaction,1" ? 0 : 1]);
  }
  expect((await board.operate(...command)).status).toBe(0);
  await expectNewLog(board);
});

it("a log whose entries are gone does not go on by a plain recovery", async () => {
  const board = await endedLog();
  await makeKey(board);
  const end = await watchSteps((name) => {
    if (name === "rename") throw Object.assign(new Error("input/output error"), { code: "EIO" });
    return undefined;
  });
  expect((await board.operate(...command)).status).not.toBe(0);
  end();
  for (const more of [[], ["--as-is"]]) {
    const { status, notes } = await board.operate("recover", "--log", ...more);
    expect([status, notes.join()]).toEqual([3, expect.stringMatching(/tile of the log is missing/)]);
  }
  expect(await board.db.rows("SELECT restored FROM log_head")).toEqual([{ restored: 1 }]);
});
