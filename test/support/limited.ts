import type { Config } from "../../src/config/config.ts";
import { defaultQuotas, type LimitName, type Quota } from "../../src/rate-limits/quota.ts";
import type { TestDatabase } from "./database.ts";
import { type Ask, type Reply, type Service, startService } from "./service.ts";

/** A clock that the test sets, in milliseconds since 1970 (UTC). The database's clock is not used. */
export class Clock {
  now = Date.parse("2026-06-01T12:00:00Z");

  pass(seconds: number): void {
    this.now += seconds * 1000;
  }
}

export interface Limited extends Service {
  clock: Clock;
  /** Calls the REST API as a client at another address. */
  from(address: string, path: string, ask?: Ask): Promise<Reply>;
}

/** Starts the service with the default rate limits and `changes`. It trusts X-Forwarded-For. */
export async function startLimited(
  changes: Partial<Record<LimitName, Quota>> = {},
  more: { clock?: Clock; db?: TestDatabase; config?: Partial<Config> } = {},
): Promise<Limited> {
  const clock = more.clock ?? new Clock();
  const service = await startService({
    config: { rateLimits: { ...defaultQuotas, ...changes }, trustProxy: ["loopback"], ...more.config },
    overrides: { now: () => clock.now },
    ...(more.db === undefined ? {} : { db: more.db }),
  });
  const from: Limited["from"] = (address, path, ask = {}) =>
    service.rest(path, { ...ask, headers: { ...ask.headers, "x-forwarded-for": address } });
  return { ...service, clock, from };
}

/** Makes calls one after the other until one is refused. @returns how many were allowed, and the refusal */
export async function untilRefused(
  call: () => Promise<Reply>,
  most = 1000,
): Promise<{ allowed: number; refusal: Reply }> {
  for (let allowed = 0; allowed <= most; allowed++) {
    const reply = await call();
    if (reply.status === 429) return { allowed, refusal: reply };
    if (reply.status >= 400) throw new Error(`refused otherwise: ${JSON.stringify(reply.body)}`);
  }
  throw new Error(`${most} calls were allowed`);
}
