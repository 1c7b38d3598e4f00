import type { Seen } from "./fault.ts";

/** The timeout of a probe, in milliseconds. It is longer than a call may wait for the database. */
const timeoutMs = 15_000;
const everyMs = 200;

/** Probes a service again and again, as users and a load balancer do. Its requests change nothing. */
export class Probe {
  readonly #url: string;
  readonly #key: string;
  readonly #seen = { read: new Set<number>(), write: new Set<number>(), ready: new Set<number>() };
  #timer: NodeJS.Timeout | undefined;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(url: string, key: string) {
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

  /** @returns descriptions of the statuses that were seen but not expected */
  async stop(allowed: Seen): Promise<string[]> {
    clearInterval(this.#timer);
    await Promise.all(this.#underWay);
    return (["read", "write", "ready"] as const).flatMap((kind) =>
      [...this.#seen[kind]]
        .filter((status) => !allowed[kind].includes(status))
        .map((each) => `${kind}: status ${each}`),
    );
  }

  /** Whether reads, writes and readiness all work. */
  async isFine(): Promise<boolean> {
    const [read, write, ready] = await Promise.all([this.#look("read"), this.#look("write"), this.#look("ready")]);
    return read === 200 && write === 404 && ready === 200;
  }

  /** @returns the status, or 0 if there is no reply */
  async #look(kind: keyof Seen): Promise<number> {
    const paths = { read: "/api/v1/feed?sort=new", ready: "/readyz", write: "/api/v1/posts/999999999/comments" };
    const write = {
      method: "POST",
      headers: { authorization: `Bearer ${this.#key}` },
      body: JSON.stringify({ body: "Nobody is there." }),
    };
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const reply = await fetch(this.#url + paths[kind], { signal, ...(kind === "write" ? write : {}) });
      await reply.arrayBuffer();
      return reply.status;
    } catch {
      return 0;
    }
  }
}
