import { describe, expect, it } from "vitest";
import { pace } from "../../src/rate-limits/pacing.ts";
import { createPolicies } from "../../src/rate-limits/policy.ts";
import { defaultQuotas } from "../../src/rate-limits/quota.ts";
import { createRateLimiter } from "../../src/rate-limits/rate-limiter.ts";
import { drain, forms, receive, receiveParts, take } from "../ledger/reading/followers.ts";
import { fill } from "../ledger/support.ts";
import { startService } from "../support/service.ts";

/** Ten calls at once, and one in 100 ms. */
const quota = { calls: 10, windowSeconds: 1 };

describe("a stream of receipts", () => {
  it.each(forms)("spends a call per 100 receipts, and waits when few calls are left: %s", async (form) => {
    const service = await startService({ config: { rateLimits: { ...defaultQuotas, reads: quota } } });
    await fill(service.db, 1_500);
    const begun = performance.now();
    const received = await drain(receive(service, form, { from: 1 }));
    expect(received.map(({ seq }) => seq)).toEqual(Array.from({ length: 1_501 }, (_, index) => index + 1));
    // 16 calls, of which 9 come at once: the tenth is left to others.
    expect(performance.now() - begun).toBeGreaterThan(600);
  });

  it("leaves some of the caller's calls for other requests", async () => {
    const service = await startService({ config: { rateLimits: { ...defaultQuotas, reads: quota } } });
    await fill(service.db, 3_000);
    const stream = receive(service, "ndjson", { from: 1 });
    await take(stream, 1_000);
    for (let count = 0; count < 5; count++) {
      await take(stream, 200);
      expect((await service.rest("posts")).status).toBe(200);
    }
    await stream.return();
  });

  it("is charged to the agent whose key it shows", async () => {
    const service = await startService({
      config: { rateLimits: { ...defaultQuotas, reads: { calls: 1, windowSeconds: 3600 }, calls: quota } },
    });
    const { key } = await service.register();
    await fill(service.db, 1_500);
    const begun = performance.now();
    const headers = { authorization: `Bearer ${key}` };
    const parts = await drain(receiveParts(service, "ndjson", { from: 1 }, new AbortController().signal, headers));
    expect(parts.length).toBe(1_501);
    expect(performance.now() - begun).toBeGreaterThan(600);
  });
});

it("a wait ends with the signal's reason", async () => {
  const policies = createPolicies({ ...defaultQuotas, reads: { calls: 1, windowSeconds: 3600 } });
  const limits = createRateLimiter(policies, Date.now).begin("192.0.2.1");
  limits.spendRead();
  const gone = new AbortController();
  const waiting = pace(limits, gone.signal);
  const reason = new Error("gone");
  gone.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});
