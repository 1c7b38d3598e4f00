// What a log has published, from outside and against its database. Long runs check it at their end.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setInterval } from "node:timers/promises";
import { logFunctions } from "../../src/client/signed-log/functions.ts";
import { treeHasher } from "../../src/log/crypto.ts";
import { openCheckpoint } from "../../src/tlog/notes/checkpoint.ts";
import { type NoteKey, parseVkey } from "../../src/tlog/notes/key.ts";
import { CompactRange } from "../../src/tlog/tree/compact-range.ts";
import type { TestDatabase } from "./database.ts";
import { faultsOfLog, wholeSize } from "./log.ts";
import { checkMirror, runMirror } from "./log-mirror.ts";
import { waitUntil } from "./wait.ts";

/** How often a watch reads the checkpoints, in milliseconds, and how often of these times it continues its mirror. */
const lookMs = 200;
const looksPerCopy = 25;

/** How long a replica may take to answer that is stopped or killed, in milliseconds. */
const answerMs = 5_000;
/** How long everything may take to be published, in milliseconds: a log begins a minute after its first start. */
const settleMs = 180_000;

/** The log that one or more replicas publish from one database. */
export class PublishedLog {
  readonly #db: TestDatabase;
  readonly #urls: () => readonly string[];
  #key: NoteKey | undefined;
  /** The roots that were served, by the size of their trees. */
  readonly #seen = new Map<number, Set<string>>();
  readonly #faults: string[] = [];
  /** The folder of a mirror that is kept meanwhile. */
  #kept: string | undefined;

  /** @param urls the root addresses of the replicas that run */
  constructor(db: TestDatabase, urls: () => readonly string[]) {
    this.#db = db;
    this.#urls = urls;
  }

  /** The key of the log; undefined while there is no log. */
  async key(): Promise<NoteKey | undefined> {
    if (this.#key !== undefined) return this.#key;
    const [identity] = await this.#db.rows<{ vkey: string }>("SELECT vkey FROM log_identity");
    this.#key = identity && (await parseVkey(identity.vkey, logFunctions.sha256));
    return this.#key;
  }

  /**
   * Reads checkpoints again and again, and keeps a mirror of the replicas in turn. What it has seen, the log must extend at the
   * end.
   */
  async watch(signal: AbortSignal): Promise<void> {
    try {
      let looks = 0;
      for await (const _ of setInterval(lookMs, undefined, { signal })) {
        await this.look();
        if (++looks % looksPerCopy === 0) await this.#copy(looks / looksPerCopy);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Brings the mirror up to date, unless the replica cannot be read or is late. */
  async #copy(turn: number): Promise<void> {
    const urls = this.#urls();
    const url = urls[turn % urls.length];
    if (this.#key === undefined || url === undefined) return;
    this.#kept ??= mkdtempSync(join(tmpdir(), "stoa-kept-mirror-"));
    const { ok, reason } = await runMirror(url, this.#kept, this.#key);
    if (ok === false && !reason.startsWith("shrunk: ")) this.#faults.push(`the mirror of ${url} has failed: ${reason}`);
  }

  /** Reads the checkpoint of every replica that answers. @returns the sizes of their trees */
  async look(): Promise<number[]> {
    // The database may be away in the middle of a run.
    const key = await this.key().catch(() => undefined);
    if (key === undefined) return [];
    const sizes = await Promise.all(
      this.#urls().map(async (url) => {
        const response = await fetch(`${url}/log/checkpoint`, { signal: AbortSignal.timeout(answerMs) }).catch(
          () => undefined,
        );
        const bytes = await response?.bytes().catch(() => undefined);
        if (response?.status !== 200 || bytes === undefined) return [];
        try {
          const { checkpoint } = await openCheckpoint(bytes, [key], logFunctions.verifyEd25519);
          const roots = this.#seen.get(checkpoint.size) ?? new Set();
          this.#seen.set(checkpoint.size, roots.add(Buffer.from(checkpoint.root).toString("hex")));
          return [checkpoint.size];
        } catch (error) {
          this.#faults.push(`a checkpoint of ${url} is not good: ${error}`);
          return [];
        }
      }),
    );
    return sizes.flat();
  }

  /**
   * Waits until everything is published, and then checks all of it: each replica by a mirror; the mirror against the entries
   * of the database; every checkpoint that was seen; and the database itself.
   * @returns what is wrong, in words
   */
  async faults(): Promise<string[]> {
    const key = await this.key();
    if (key === undefined) return ["there is no log"];
    const size = await this.#settle();
    const faults = [...this.#faults];
    for (const url of this.#urls()) {
      const { entries, faults: found } = await checkMirror(url, size, key, this.#kept);
      faults.push(...found);
      if (entries.length > 0) faults.push(...(await this.#compare(entries)), ...this.#faultsOfSeen(entries));
    }
    if (this.#kept !== undefined) rmSync(this.#kept, { recursive: true });
    this.#kept = undefined;
    return [...new Set([...faults, ...(await faultsOfLog(this.#db))])];
  }

  /** @returns the size of the tree that has everything */
  async #settle(): Promise<number> {
    let size = 0;
    const isSettled = async () => {
      const whole = await wholeSize(this.#db);
      if (whole === undefined) return false;
      size = whole;
      const published = await this.look();
      return published.length === this.#urls().length && published.every((each) => each === size);
    };
    await waitUntil("everything is in the log and published", isSettled, settleMs);
    return size;
  }

  async #compare(entries: readonly Uint8Array[]): Promise<string[]> {
    const rows = await this.#db.rows<{ entry: string }>("SELECT entry FROM log_entries ORDER BY idx");
    const faults = entries.flatMap((entry, index) =>
      Buffer.from(entry).toString() === rows[index]?.entry ? [] : [`entry ${index} is another one in the database`],
    );
    if (rows.length !== entries.length)
      faults.push(`${rows.length} entries in the database, ${entries.length} published`);
    return faults;
  }

  #faultsOfSeen(entries: readonly Uint8Array[]): string[] {
    const faults: string[] = [];
    const range = new CompactRange(treeHasher);
    for (const entry of entries) {
      range.append(entry);
      const seen = this.#seen.get(range.size);
      if (seen === undefined) continue;
      const root = Buffer.from(range.root()).toString("hex");
      if ([...seen].some((each) => each !== root))
        faults.push(`the log has signed another tree of ${range.size} entries`);
    }
    const beyond = [...this.#seen.keys()].filter((size) => size > entries.length);
    faults.push(...beyond.map((size) => `the log has signed a tree of ${size} entries, and has ${entries.length}`));
    return faults;
  }
}
