// Key and origin of the log: who begins it, and which of them a start refuses.
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { expect, it } from "vitest";
import { startApp } from "../../src/app/app.ts";
import { type BoardLogConfig, readConfig } from "../../src/config/config.ts";
import { treeHasher } from "../../src/log/crypto.ts";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import { formatVkey } from "../../src/tlog/notes/key.ts";
import { formatSignerKey } from "../../src/tlog/notes/signer-key.ts";
import { CompactRange } from "../../src/tlog/tree/compact-range.ts";
import { operateWith } from "../operator/support.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../support/database.ts";
import { beginTestLog, entriesOf } from "../support/log.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { testKey } from "../tlog/node-functions.ts";
import { GrowingLog, key, never, receiptEntry } from "./support.ts";

const keyText = `${formatSignerKey(key)}\n`;
const boardLog: BoardLogConfig = { mayBegin: true, origin: undefined, keyText };
const otherKey = await testKey("stoa.example/log", 8);

const identityIn = (db: TestDatabase) => db.rows<Record<string, unknown>>("SELECT origin, vkey FROM log_identity");

/** The message with which a service on a database does not start. */
async function failure(db: TestDatabase, settings: Record<string, string>): Promise<string> {
  const environment = {
    STOA_PORT: "0",
    STOA_METRICS_PORT: "none",
    STOA_DATABASE_URL: urlOf(db.config),
    STOA_DATA_DIR: scratchFolder(),
    ...settings,
  };
  try {
    const app = await startApp(readConfig(environment), { log: pino({ level: "silent" }) });
    await app.close();
    return "it started";
  } catch (error) {
    return (error as Error).message;
  }
}

function keyFile(text: string, mode = 0o600): string {
  const path = join(scratchFolder(), "key");
  writeFileSync(path, text, { mode });
  chmodSync(path, mode);
  return path;
}

it("a start with a key begins the log, and replicas find it; without a key or with STOA_LOG=off none begins", async () => {
  const overrides = { logLookMs: { identity: 20, notes: 20 } };
  const dataDir = scratchFolder();
  const { db } = await startService({ config: { dataDir }, overrides });
  const replica = (changes: Partial<typeof boardLog>) =>
    startService({ db, config: { boardLog: { ...boardLog, mayBegin: false, ...changes } }, overrides });
  const renamed = await replica({ origin: "other.example/log", keyText: undefined });
  const rekeyed = await replica({ keyText: formatSignerKey(otherKey) });
  expect(await identityIn(db)).toEqual([]);
  const service = await startService({ db, config: { boardLog } });
  expect(await identityIn(db)).toEqual([{ origin: "stoa.example/log", vkey: formatVkey(key) }]);
  const [first] = await db.rows<{ entry: string }>("SELECT entry FROM log_entries WHERE idx = 0");
  expect(JSON.parse(first?.entry ?? "")).toEqual({
    origin: "stoa.example/log",
    ts: expect.any(String),
    type: "log",
    v: 1,
    vkey: formatVkey(key),
  });
  expect((await service.rest("/readyz")).body.warning).toBeUndefined();
  await waitUntil("the folder of the replica without a key", () => existsSync(join(dataDir, "log", "lock")));
  // A replica says so when the log has another name or key than its own.
  const says =
    ({ log }: Service, text: RegExp) =>
    () =>
      log.some(({ msg }) => text.test(String(msg)));
  await waitUntil("a line on the name", says(renamed, /^STOA_LOG_ORIGIN is other\.example\/log, but this log began/));
  await waitUntil("a line on the key", says(rekeyed, /^The key file of the log is of .*, and this log began with/));
});

it("a start stops with one line for a key or an origin that are not those of the log, or not of each other", async () => {
  const db = await createDatabaseWithSchema();
  expect(await failure(db, { STOA_LOG_KEY_FILE: keyFile(keyText), STOA_LOG_ORIGIN: "other.example/log" })).toBe(
    "STOA_LOG_ORIGIN is other.example/log, but the key file of the log is of stoa.example/log: change one of them.",
  );
  expect(await identityIn(db)).toEqual([]);
  await startService({ db, config: { boardLog } });
  expect(await failure(db, { STOA_LOG_KEY_FILE: keyFile(formatSignerKey(otherKey)) })).toMatch(
    /^The key file of the log is of stoa\.example\/log\+\S+, and this log began with stoa\.example\/log\+\S+\. The key of a log cannot change: .*\.$/,
  );
  expect(await failure(db, { STOA_LOG_ORIGIN: "other.example/log" })).toBe(
    "STOA_LOG_ORIGIN is other.example/log, but this log began as stoa.example/log, which cannot change.",
  );
  expect(await failure(db, { STOA_LOG_KEY_FILE: keyFile(keyText), STOA_LOG_ORIGIN: key.name })).toBe("it started");
});

it("what is said is in the log although it began while the clock was ten years ahead", async () => {
  let now = Date.UTC(2026, 0, 31);
  const db = await createDatabaseWithSchema();
  await beginTestLog(db, Date.UTC(2036, 0, 31));
  const start = () => startService({ db, overrides: { now: () => now, sealsDays: false } });
  const agents = async () => (await entriesOf(db)).filter(({ type }) => type === "agent").map(({ id }) => id);
  const early = await start();
  await early.register("Zeno");
  expect(await agents()).toEqual([]);
  now += 60_000;
  await early.register("Achilles");
  expect(await agents()).toEqual([2]);
  // Once the import has begun, the log has.
  await db.rows("UPDATE log_identity SET imported = ''");
  await (await start()).register("Tortoise");
  expect(await agents()).toEqual([2, 3]);
});

it("a start stops with one line for a key file that others may read, or that holds no key", async () => {
  const db = await createDatabaseWithSchema();
  const readable = keyFile(keyText, 0o640);
  expect(await failure(db, { STOA_LOG_KEY_FILE: readable })).toBe(
    `STOA_LOG_KEY_FILE names a file that others may read; run: chmod 600 ${readable}.`,
  );
  expect(await failure(db, { STOA_LOG_KEY_FILE: "/nonexistent" })).toBe(
    "STOA_LOG_KEY_FILE names a file that cannot be read (ENOENT).",
  );
  const bad = {
    "two lines": keyText + keyText,
    "a public key": formatVkey(key),
    nothing: "\n",
    "other bytes": "PRIVATE+KEY+a+b",
  };
  for (const [what, text] of Object.entries(bad)) {
    const message = await failure(db, { STOA_LOG_KEY_FILE: keyFile(text) });
    expect([what, message]).toEqual([
      what,
      expect.stringMatching(/^STOA_LOG_KEY_FILE does not hold a key of a log: [^\n]*\.$/),
    ]);
    expect(message).not.toContain(text.trim().slice(30) || "none");
  }
  const folder = scratchFolder();
  mkdirSync(join(folder, "log"));
  const path = join(folder, "log", "key");
  writeFileSync(path, keyText, { mode: 0o644 });
  expect(await failure(db, { STOA_DATA_DIR: folder })).toBe(
    `STOA_LOG_KEY_FILE is ${path} by default and names a file that others may read; run: chmod 600 ${path}.`,
  );
  chmodSync(path, 0o600);
  expect(await failure(db, { STOA_DATA_DIR: folder })).toBe("it started");
  expect(await identityIn(db)).toHaveLength(1);
});

it("no log begins where the folder has a checkpoint, or entries without one, and the database has no log", async () => {
  const published = scratchFolder();
  const publisher = await (await GrowingLog.begin()).publisher(published);
  await publisher.publish(never);
  await publisher.stop();
  const db = await createDatabaseWithSchema();
  for (const lose of [() => {}, rmSync]) {
    const dataDir = scratchFolder();
    cpSync(published, join(dataDir, "log"), { recursive: true });
    lose(join(dataDir, "log", "checkpoint"));
    const { rest } = await startService({ db, config: { boardLog, dataDir } });
    expect((await rest("/readyz")).body.warning).toMatch(/log folder .* is of a log, and the database has none/);
  }
  expect(await identityIn(db)).toEqual([]);
});

it("a log begins in a folder that was begun and published nothing, also by a version whose mark was empty", async () => {
  for (const isOld of [false, true]) {
    const dataDir = scratchFolder();
    const folder = await LogFolder.open(join(dataDir, "log"), key);
    await folder.begin(new CompactRange(treeHasher));
    const extension = folder.extend();
    if (!isOld) await extension.append([receiptEntry(1)]);
    await extension.sync();
    folder.close();
    if (isOld) truncateSync(join(folder.path, "checkpoint"));
    const service = await startService({ config: { boardLog, dataDir } });
    expect((await service.rest("/readyz")).body.warning).toBeUndefined();
    expect(await identityIn(service.db)).toHaveLength(1);
  }
});

it("stoa keygen writes a key that only its owner may read, and leaves an existing file", async () => {
  const path = join(scratchFolder(), "key");
  const settings = { STOA_SITE_URL: "https://stoa.example:8443" };
  const made = await operateWith(settings, ["keygen", path]);
  expect(made).toEqual({
    status: 0,
    out: [expect.stringMatching(/^stoa\.example:8443\/log\+[0-9a-f]{8}\+A\S+$/)],
    notes: [],
  });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const text = readFileSync(path, "utf8");
  expect(text).toMatch(/^PRIVATE\+KEY\+stoa\.example:8443\/log\+[0-9a-f]{8}\+\S+\n$/);
  const again = await operateWith(settings, ["keygen", path]);
  expect(again).toEqual({ status: 3, out: [], notes: [`stoa keygen: ${path} exists, and is left as it is`] });
  expect(readFileSync(path, "utf8")).toBe(text);
  const { status, notes } = await operateWith({}, ["keygen", path]);
  expect([status, notes[0]]).toEqual([2, expect.stringMatching(/STOA_LOG_ORIGIN or STOA_SITE_URL must be set/)]);
  const another = `${path}2`;
  const { out } = await operateWith(settings, ["keygen", "--json", another]);
  expect(JSON.parse(out.join())).toEqual({
    ok: true,
    file: another,
    origin: "stoa.example:8443/log",
    vkey: expect.stringMatching(/^stoa\.example:8443\/log\+[0-9a-f]{8}\+A\S+$/),
  });
});
