import { createHash } from "node:crypto";
import { join } from "node:path";
import canonicalize from "canonicalize";
import { pino } from "pino";
import type { DatabaseConfig } from "../../src/config/config.ts";
import { StoaError } from "../../src/errors.ts";
import { begin } from "../../src/log/beginning.ts";
import { signerOf } from "../../src/log/crypto.ts";
import { Import } from "../../src/log/import.ts";
import { makeKey } from "../../src/log/key-file.ts";
import { OutboxWatch } from "../../src/log/outbox-watch.ts";
import { Publisher } from "../../src/log/publisher/publisher.ts";
import { Sequencer } from "../../src/log/sequencer/sequencer.ts";
import { Database } from "../../src/store/database/database.ts";
import { type LogIdentity, readLogIdentity } from "../../src/store/tables/log-identity.ts";
import type { SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { afterFile } from "./after-file.ts";
import type { TestDatabase } from "./database.ts";
import { scratchFolder } from "./scratch-folder.ts";
import { waitUntil } from "./wait.ts";

export const testOrigin = "stoa.test/log";

const sha256 = (...parts: (string | Uint8Array)[]): Buffer => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};
export const leafHash = (entry: string): Buffer => sha256("\0", entry);
const nodeHash = (left: Buffer, right: Buffer): Buffer => sha256("\u0001", left, right);

/** MTH of RFC 6962, as its definition says it. */
export function rootOf(leaves: readonly Buffer[]): Buffer {
  const [first] = leaves;
  if (first === undefined) return sha256();
  if (leaves.length === 1) return first;
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return nodeHash(rootOf(leaves.slice(0, k)), rootOf(leaves.slice(k)));
}

/** Begins the log of a test, before its service starts. @param beginsAt in milliseconds since 1970 (UTC). @returns its key */
export async function beginTestLog(db: TestDatabase, beginsAt = 0): Promise<SignerKey> {
  const key = await makeKey(testOrigin);
  const database = new Database({ address: db.config, connections: 1 });
  await begin(key, { db: database, now: () => beginsAt, hasReplicas: false, signal: new AbortController().signal });
  await database.close();
  return key;
}

/** The size of a log that has everything that is said, signed, and whose import has ended; undefined while it will grow. */
export async function wholeSize(db: TestDatabase): Promise<number | undefined> {
  const [state] = await db.rows<{ size: number; rest: number }>(
    `SELECT size, size - signed + (SELECT COUNT(*) FROM log_outbox) + (SELECT COALESCE(MAX(id), 0) FROM moderations) - acts
         + (SELECT COALESCE(MAX(seq), 0) FROM receipts) - receipts
         + (SELECT COUNT(*) FROM log_identity WHERE imported <> '') AS rest FROM log_head`,
  );
  return Number(state?.rest) === 0 ? Number(state?.size) : undefined;
}

/**
 * Resolves once a replica has published everything that is said: a proof of it needs no wait, and the log does not grow between
 * two reads.
 */
export async function untilPublished({ db, url }: { db: TestDatabase; url: string }): Promise<void> {
  await waitUntil("everything is in the log and published", async () => {
    const size = await wholeSize(db);
    if (size === undefined) return false;
    const [, published] = (await (await fetch(`${url}/log/checkpoint`)).text()).split("\n");
    return Number(published) === size;
  });
}

/** A replica without requests: its sequencer runs when the test says so. */
export interface LogReplica {
  db: Database;
  publisher: Publisher;
  /** It looks when the test says so. */
  outbox: OutboxWatch;
  sequencer: Sequencer;
  import: Import;
  /** Runs the sequencer once. */
  run(): Promise<void>;
}

/** Starts a replica with a folder of its own. It stops after the last test of the file. */
export async function startLogReplica(
  address: DatabaseConfig,
  key: SignerKey,
  path = scratchFolder(),
): Promise<LogReplica> {
  const db = new Database({ address, connections: 4 });
  afterFile(() => db.close());
  const log = pino({ level: "silent" });
  const publisher = new Publisher({ db, path: join(path, "log"), key, signer: signerOf(key), log });
  afterFile(() => publisher.stop());
  const { signal } = new AbortController();
  await publisher.begin(signal);
  const { beginsAt } = (await readLogIdentity(db.reader(signal))) as LogIdentity;
  const outbox = new OutboxWatch();
  const sequencer = new Sequencer({ db, publisher, outbox, beginsAt, takeOverMs: 100 });
  const rows = new Import({ db, outbox, now: Date.now, settledAt: 0, takeOverMs: 100 });
  return { db, publisher, outbox, sequencer, import: rows, run: () => sequencer.run(signal) };
}

/** Runs a replica, as its ticks do, until it has published everything that is said. */
export function publishAll(db: TestDatabase, replica: LogReplica): Promise<void> {
  return tickUntil("everything is in the log and published", replica, async () => (await wholeSize(db)) !== undefined);
}

/** Runs the sequencer and the import of a replica, as its ticks do, until `isDone`. */
export function tickUntil(
  what: string,
  { run, import: rows, sequencer }: LogReplica,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const tick = async () => {
    await run();
    await rows.run(new AbortController().signal, sequencer.goesOn);
    return isDone();
  };
  return waitUntil(what, () =>
    tick().catch((error) => {
      // The next tick goes on, as after a lock that another write has held for long.
      if (error instanceof StoaError && error.code === "unavailable") return false;
      throw error;
    }),
  );
}

// biome-ignore lint/suspicious/noExplicitAny: tests read entries as an untyped reader does.
export type AnyEntry = any;

/** What is said of a log: entries with an index, and then those of the outbox. */
export async function entriesOf(db: TestDatabase): Promise<AnyEntry[]> {
  const rows = await db.rows<{ entry: string }>(
    `SELECT entry FROM (SELECT 0 AS waits, idx AS n, entry FROM log_entries UNION ALL SELECT 1, id, entry FROM log_outbox) e
     ORDER BY waits, n`,
  );
  return rows.map(({ entry }) => JSON.parse(entry));
}

const contents = {
  agent: "SELECT id, salt, name <> '[removed]' AS stands, bio, name, resident FROM agents",
  community: "SELECT id, salt, 1 AS stands, created_by AS agent, description, name, title FROM communities",
  post: "SELECT id, salt, 1 AS stands, author_id AS agent, body, community_id AS community, title FROM posts",
  comment: "SELECT id, salt, 1 AS stands, author_id AS agent, body FROM comments",
};

/**
 * Everything that is wrong with the log of a database, whose sequencers are idle: gaps, tiles, the root, texts that contradict
 * their newest commitment or have none, texts in entries, and removed items without their entry.
 * @param options.isImported whether every text that stands must be in the log
 */
export async function faultsOfLog(db: TestDatabase, { isImported = true } = {}): Promise<string[]> {
  const faults: string[] = [];
  const rows = await db.rows<{ idx: number; item: string; item_id: number; entry: string }>(
    "SELECT idx, item, item_id, entry FROM log_entries ORDER BY idx",
  );
  const [head] = await db.rows<{ size: number; root: Buffer; acts: number; receipts: number }>(
    "SELECT size, root, acts, receipts FROM log_head",
  );
  if (head === undefined) return ["there is no head"];
  rows.forEach(({ idx }, at) => {
    if (idx !== at) faults.push(`entry ${at} has the index ${idx}`);
  });
  if (rows.length !== head.size) faults.push(`${rows.length} entries, but the head says ${head.size}`);
  const leaves = rows.map(({ entry }) => leafHash(entry));
  if (!rootOf(leaves).equals(head.root)) faults.push("the entries have another root than the head");
  faults.push(...(await faultsOfTiles(db, leaves)));
  const entries: AnyEntry[] = rows.map(({ entry }) => JSON.parse(entry));
  const waiting = (await db.rows<{ entry: string }>("SELECT entry FROM log_outbox ORDER BY id")).map(({ entry }) =>
    JSON.parse(entry),
  );
  const all = [...entries, ...waiting];
  for (const entry of all)
    if (canonicalize(entry)?.length !== JSON.stringify(entry).length) faults.push("not canonical");
  for (const [kind, sql] of Object.entries(contents)) {
    const newest = new Map<number, string>();
    const created = new Set<number>();
    for (const entry of all) {
      if (entry.type === kind && created.has(entry.id)) faults.push(`${kind} ${entry.id} is created twice`);
      if (entry.type === kind) created.add(entry.id);
      if (entry.type === kind || (entry.type === "edit" && entry.of === kind)) newest.set(entry.id, entry.content);
    }
    for (const { id, salt, stands, ...content } of await db.rows<{ id: number; salt: Buffer | null; stands: number }>(
      sql,
    )) {
      if (!stands) {
        if (salt !== null) faults.push(`${kind} ${id} is erased and has a salt`);
      } else if (salt === null) {
        if (isImported) faults.push(`${kind} ${id} is not in the log`);
      } else if (newest.get(id) !== sha256(salt, canonicalize(content) as string).toString("hex")) {
        faults.push(`${kind} ${id} contradicts its newest commitment`);
      }
    }
  }
  for (const kind of ["post", "comment"]) {
    const removed = await db.rows<{ id: number; salt: Buffer | null; erase_at: number | null; removed_by: string }>(
      `SELECT id, salt, erase_at, removed_by FROM removed_${kind}s`,
    );
    const known = new Set(all.filter(({ type }) => type === kind).map(({ id }) => id));
    for (const { id, salt, erase_at, removed_by } of removed) {
      if (erase_at === null && salt !== null) faults.push(`the erased ${kind} ${id} has a salt`);
      const isTold = all.some(
        (entry) =>
          (entry.type === "deletion" && entry.of === kind && entry.id === id) ||
          (entry.type === "act" && entry.act === "remove" && entry.item === kind && entry.item_id === id),
      );
      if (known.has(id) && removed_by === "author" && !isTold) faults.push(`${kind} ${id} is deleted without an entry`);
    }
  }
  const ended = await db.rows<{ id: number }>(
    `SELECT id FROM agents WHERE name = '[removed]' AND id NOT IN (
       SELECT item_id FROM moderations WHERE item = 'agent' AND act = 'erase')`,
  );
  for (const { id } of ended) {
    const isOfAgent = (entry: AnyEntry, type: string) => entry.type === type && entry.id === id;
    if (!all.some((entry) => isOfAgent(entry, "agent"))) continue;
    const told = all.filter((entry) => isOfAgent(entry, "deletion") && entry.of === "agent");
    if (told.length !== 1) faults.push(`agent ${id} has ended with ${told.length} entries`);
  }
  faults.push(...faultsOfOrder(entries));
  faults.push(...(await faultsOfPositions(db, entries, head)));
  return faults;
}

async function faultsOfTiles(db: TestDatabase, leaves: readonly Buffer[]): Promise<string[]> {
  const stored = await db.rows<{ level: number; n: number; hashes: Buffer }>("SELECT level, n, hashes FROM log_tiles");
  const expected = new Map<string, Buffer>();
  for (let level = 0, hashes = [...leaves]; hashes.length > 0; level++) {
    const next: Buffer[] = [];
    for (let n = 0; n * 256 < hashes.length; n++) {
      const tile = hashes.slice(n * 256, n * 256 + 256);
      expected.set(`${level}/${n}`, Buffer.concat(tile));
      if (tile.length === 256) next.push(rootOf(tile));
    }
    hashes = next;
  }
  const faults = stored.flatMap(({ level, n, hashes }) =>
    expected.get(`${level}/${n}`)?.equals(hashes) ? [] : [`tile ${level}/${n} is wrong`],
  );
  if (stored.length !== expected.size) faults.push(`${stored.length} tiles instead of ${expected.size}`);
  return faults;
}

/** What an entry is about, and what a comment is on or replies to, comes before it. */
function faultsOfOrder(entries: readonly AnyEntry[]): string[] {
  const created = new Map<string, number>();
  for (const [at, { type, id }] of entries.entries()) created.set(`${type} ${id}`, at);
  return entries.flatMap((entry, at) => {
    const { type, id } = entry;
    const needed = [
      ...(type === "comment" && !entry.imported ? [`post ${entry.post}`, `comment ${entry.parent}`] : []),
      ...(["edit", "deletion"].includes(type) ? [`${entry.of} ${id}`] : []),
      ...(type === "act" && !entry.imported ? [`${entry.item} ${entry.item_id}`] : []),
    ];
    return needed
      .filter((each) => (created.get(each) ?? -1) > at)
      .filter((each) => !entries[created.get(each) as number].imported)
      .map((each) => `entry ${at} comes before that of ${each}`);
  });
}

/** Acts and receipts stand in the log in their order, each once, up to the positions of the head. */
async function faultsOfPositions(
  db: TestDatabase,
  entries: readonly AnyEntry[],
  head: { acts: number; receipts: number },
): Promise<string[]> {
  const acts = entries.filter(({ type }) => type === "act").map(({ id }) => id);
  const receipts = entries.filter(({ type }) => type === "receipt");
  const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1);
  const faults: string[] = [];
  if (JSON.stringify(acts) !== JSON.stringify(upTo(head.acts)))
    faults.push(`acts ${acts}, but the head says ${head.acts}`);
  if (JSON.stringify(receipts.map(({ seq }) => seq)) !== JSON.stringify(upTo(head.receipts)))
    faults.push(`receipts ${receipts.map(({ seq }) => seq)}, but the head says ${head.receipts}`);
  const hashes = new Map(
    (await db.rows<{ seq: number; hash: string }>("SELECT seq, hash FROM receipts")).map(({ seq, hash }) => [
      seq,
      hash,
    ]),
  );
  for (const { seq, hash } of receipts) if (hashes.get(seq) !== hash) faults.push(`receipt ${seq} has another hash`);
  return faults;
}
