import type { Seen } from "./fault.ts";

/** The timeout of a probe, in milliseconds. It is longer than a call may wait for the database. */
const timeoutMs = 15_000;
const everyMs = 200;
const kinds = ["read", "write", "ready"] as const;
const paths = { read: "/api/v1/feed?sort=new", ready: "/readyz", write: "/api/v1/posts/999999999/comments" };

export interface Probe {
  /** Whether reads, writes and readiness all work. */
  isFine(): Promise<boolean>;
  /** @returns descriptions of the statuses that were seen but not expected */
  stop(allowed: Seen): Promise<string[]>;
}

/** Probes a service again and again, as users and a load balancer do. Its requests change nothing. */
export function startProbe(url: string, key: string): Probe {
  const seen = { read: new Set<number>(), write: new Set<number>(), ready: new Set<number>() };
  const underWay = new Set<Promise<unknown>>();
  const timer = setInterval(() => {
    for (const kind of kinds) {
      const look = lookAt(url, key, kind).then((status) => seen[kind].add(status));
      underWay.add(look);
      void look.finally(() => underWay.delete(look));
    }
  }, everyMs);
  return {
    async isFine() {
      const statuses = await Promise.all(kinds.map((kind) => lookAt(url, key, kind)));
      return statuses.join() === "200,404,200";
    },
    async stop(allowed) {
      clearInterval(timer);
      await Promise.all(underWay);
      const others = (kind: keyof Seen) => [...seen[kind]].filter((status) => !allowed[kind].includes(status));
      return kinds.flatMap((kind) => others(kind).map((status) => `${kind}: status ${status}`));
    },
  };
}

/** @returns the status, or 0 if there is no reply */
async function lookAt(url: string, key: string, kind: keyof Seen): Promise<number> {
  const body = JSON.stringify({ body: "Nobody is there." });
  const write = { method: "POST", headers: { authorization: `Bearer ${key}` }, body };
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const reply = await fetch(url + paths[kind], { signal, ...(kind === "write" ? write : {}) });
    await reply.arrayBuffer();
    return reply.status;
  } catch {
    return 0;
  }
}
