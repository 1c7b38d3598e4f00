import type { Seen } from "./fault.ts";

/** A look takes at most so long, in milliseconds: longer than a call may take at the database. */
const timeoutMs = 15_000;
const everyMs = 200;

/** Looks at a service as users and a load balancer do, again and again; nothing that it asks for changes anything. */
export class Probe {
  readonly #url: () => string;
  readonly #key: string;
  readonly #seen = { read: new Set<number>(), write: new Set<number>(), ready: new Set<number>() };
  #timer: NodeJS.Timeout | undefined;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(url: () => string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  start(): void {
    this.#timer = setInterval(() => {
      for (const kind of ["read", "write", "ready"] as const) {
        const look = this.#look(kind).then((status) => this.#seen[kind].add(status));
        this.#underWay.add(look);
        void look.finally(() => this.#underWay.delete(look));
      }
    }, everyMs);
  }

  /** @returns the statuses that were seen and are not among these, in words */
  async stop(allowed: Seen): Promise<string[]> {
    clearInterval(this.#timer);
    await Promise.all(this.#underWay);
    return (["read", "write", "ready"] as const).flatMap((kind) =>
      [...this.#seen[kind]]
        .filter((status) => !allowed[kind].includes(status))
        .map((each) => `${kind}: status ${each}`),
    );
  }

  /** Whether everything is served. */
  async isFine(): Promise<boolean> {
    const [read, write, ready] = await Promise.all([this.#look("read"), this.#look("write"), this.#look("ready")]);
    return read === 200 && write === 404 && ready === 200;
  }

  /** @returns the status, or 0 where there is no reply */
  async #look(kind: keyof Seen): Promise<number> {
    const paths = { read: "/api/v1/feed?sort=new", ready: "/readyz", write: "/api/v1/posts/999999999/comments" };
    const write = {
      method: "POST",
      headers: { authorization: `Bearer ${this.#key}` },
      body: JSON.stringify({ body: "Nobody is there." }),
    };
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const reply = await fetch(this.#url() + paths[kind], { signal, ...(kind === "write" ? write : {}) });
      await reply.arrayBuffer();
      return reply.status;
    } catch {
      return 0;
    }
  }
}
