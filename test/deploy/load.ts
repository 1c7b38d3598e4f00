import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../support/wait.ts";
import type { AskOptions } from "./client.ts";
import { GrpcReader } from "./grpc-reader.ts";
import type { Pair } from "./pair.ts";

const writers = 4;
const readers = 4;

/**
 * Clients that write posts and read through a proxy as quickly as they are answered, each request over a connection of its own.
 * Every read must be answered well at once.
 */
export class Load {
  /** The ids of posts that were acknowledged, by their titles, of which each is used once. */
  readonly acknowledged = new Map<string, number>();
  /** Everything that must not happen. */
  readonly faults: string[] = [];
  /** Writes that were repeated. */
  repeated = 0;
  reads = 0;
  /** By gRPC. */
  calls = 0;
  longestMs = 0;
  readonly #pair: Pair;
  readonly #key: string;
  readonly #repeats: boolean;
  /** What the titles of this load begin with. */
  readonly #prefix = `load ${randomUUID()}`;
  readonly #running: Promise<unknown>;
  #stopped = false;

  /** @param repeats whether a write may fail, and is then repeated with its idempotency key; otherwise that is a fault */
  constructor(pair: Pair, key: string, { repeats }: { repeats: boolean }) {
    this.#pair = pair;
    this.#key = key;
    this.#repeats = repeats;
    this.#running = Promise.all([
      ...Array.from({ length: writers }, () => this.#write()),
      ...Array.from({ length: readers }, () => this.#read()),
      this.#readByGrpc(),
    ]);
  }

  /** Resolves when this many further writes and reads have been answered. */
  async more(number: number): Promise<void> {
    const wanted = [this.acknowledged.size + number, this.reads + number] as const;
    await waitUntil("the load to go on", () => this.acknowledged.size >= wanted[0] && this.reads >= wanted[1]);
  }

  /** Stops, and compares the database with the replies. @returns everything that is wrong */
  async stop(): Promise<string[]> {
    this.#stopped = true;
    await this.#running;
    const { db } = this.#pair;
    const mine = [`${this.#prefix} %`];
    const rows = await db.rows<{ id: number; title: string }>("SELECT id, title FROM posts WHERE title LIKE ?", mine);
    const stored = new Map(rows.map(({ id, title }) => [title, id]));
    const lost = [...this.acknowledged].filter(([title, id]) => stored.get(title) !== id);
    const wrong = [...this.faults, ...lost.map(([title]) => `lost: ${title}`)];
    const { size } = this.acknowledged;
    if (stored.size !== rows.length) wrong.push(`doubled: ${rows.length - stored.size}`);
    if (rows.length !== size) wrong.push(`${rows.length} stored, ${size} acknowledged`);
    return wrong;
  }

  async #write(): Promise<void> {
    while (!this.#stopped) {
      const id = randomUUID();
      const headers = { "idempotency-key": id };
      const title = `${this.#prefix} ${id}`;
      const options = { key: this.#key, body: { title }, headers };
      for (;;) {
        const { status, text } = await this.#send("/api/v1/posts", options);
        if (status === 201) {
          this.acknowledged.set(title, JSON.parse(text).post.id);
          break;
        }
        // No reply, or 503: it may have taken effect.
        if (!this.#repeats || (status !== 503 && status !== 0)) this.faults.push(`a write: ${status} ${text}`);
        this.repeated++;
      }
    }
  }

  async #read(): Promise<void> {
    const paths = ["/api/v1/posts?limit=5", "/", "/api/v1/communities/general", "/api/v1/posts/1"];
    while (!this.#stopped) {
      for (const path of paths) {
        const { status, text } = await this.#send(path);
        if (status !== 200) this.faults.push(`GET ${path}: ${status} ${text.slice(0, 200)}`);
        this.reads++;
      }
    }
  }

  /** A call of gRPC is no GET: a proxy does not send it again. */
  async #readByGrpc(): Promise<void> {
    const reader = new GrpcReader(this.#pair.site, "127.0.0.3", 1n);
    while (!this.#stopped) {
      const status = await reader.read().catch((error: Error) => error.message);
      if (status !== 200 && !this.#repeats) this.faults.push(`GetPost by gRPC: ${status}`);
      this.calls++;
      // All come from one address.
      await sleep(20);
    }
    reader.close();
  }

  /** The status is 0 if there is no reply. */
  async #send(path: string, options?: AskOptions): Promise<{ status: number; text: string }> {
    const begun = performance.now();
    const reply = await this.#pair.ask(path, options).catch((error: Error) => ({ status: 0, text: error.message }));
    this.longestMs = Math.max(this.longestMs, performance.now() - begun);
    return reply;
  }
}
