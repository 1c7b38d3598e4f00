import { setTimeout as sleep } from "node:timers/promises";
import { type HammerPost, newPost } from "../hammer/acknowledged.ts";
import type { TestDatabase } from "../support/database.ts";
import { Pauses } from "./pauses.ts";

/** How long a probe waits for its reply, in milliseconds. A call has 10 s. */
const timeoutMs = 15_000;
const everyMs = 50;

/**
 * Writes posts without idempotency keys through one replica, one after another, and never repeats one. So each must be there
 * once if it was acknowledged, and at most once if not.
 */
export class Prober {
  readonly name: string;
  /** Replies by status; 0 means no reply. */
  readonly statuses: Record<number, number> = {};
  readonly faults: string[] = [];
  readonly #url: () => string;
  readonly #acknowledged = new Map<string, number>();
  readonly pauses = new Pauses();
  #key = "";
  #count = 1;

  constructor(name: string, url: () => string) {
    this.name = name;
    this.#url = url;
  }

  /** How many posts were acknowledged. */
  get acknowledged(): number {
    return this.#acknowledged.size;
  }

  /** The ids of these posts. */
  get ids(): number[] {
    return [...this.#acknowledged.values()];
  }

  async run(stopped: () => boolean): Promise<void> {
    for (; !stopped(); this.#count++) {
      const count = this.#count;
      if (this.#key === "") {
        const { status, body } = await this.#ask("agents/register", { name: `${this.name}-${count}` });
        if (status === 201) this.#key = body.api_key;
      } else await this.#post(`${this.name} probe ${count}`);
      await sleep(everyMs);
    }
  }

  /** Looks for the posts in the database. @returns those that are there, for the audit */
  async settle(db: TestDatabase): Promise<HammerPost[]> {
    const posts: HammerPost[] = [];
    const rows = await db.rows<{ id: number; title: string; name: string }>(
      "SELECT p.id, p.title, a.name FROM posts p JOIN agents a ON a.id = p.author_id WHERE p.title LIKE ?",
      [`${this.name} probe %`],
    );
    const seen = new Set<string>();
    for (const { id, title, name } of rows) {
      if (seen.has(title)) this.faults.push(`doubled: ${title}`);
      seen.add(title);
      const known = this.#acknowledged.get(title);
      if (known !== undefined && known !== id) this.faults.push(`${title} was acknowledged as ${known}, and is ${id}`);
      posts.push(newPost(id, title, name));
    }
    for (const title of this.#acknowledged.keys()) if (!seen.has(title)) this.faults.push(`lost: ${title}`);
    return posts;
  }

  async #post(title: string): Promise<void> {
    const begun = Date.now();
    const { status, body } = await this.#ask("posts", { title });
    if (status === 201) {
      this.#acknowledged.set(title, body.post.id);
      this.pauses.good(begun);
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: an untyped client reads replies in this way.
  async #ask(path: string, content: Record<string, unknown>): Promise<{ status: number; body: any }> {
    try {
      const reply = await fetch(`${this.#url()}/api/v1/${path}`, {
        method: "POST",
        body: JSON.stringify(content),
        headers: this.#key === "" ? {} : { authorization: `Bearer ${this.#key}` },
        signal: AbortSignal.timeout(timeoutMs),
      });
      const body = (await reply.json()) as Record<string, unknown>;
      this.statuses[reply.status] = (this.statuses[reply.status] ?? 0) + 1;
      if (reply.status !== 201 && reply.status !== 503)
        this.faults.push(`${path}: ${reply.status} ${JSON.stringify(body)}`);
      return { status: reply.status, body };
    } catch {
      this.statuses[0] = (this.statuses[0] ?? 0) + 1;
      return { status: 0, body: undefined };
    }
  }
}
