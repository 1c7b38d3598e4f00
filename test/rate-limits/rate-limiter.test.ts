import { describe, expect, it } from "vitest";
import { createPolicies } from "../../src/rate-limits/policy.ts";
import { defaultQuotas } from "../../src/rate-limits/quota.ts";
import { createRateLimiter } from "../../src/rate-limits/rate-limiter.ts";

const address = "192.0.2.1";
const hour = 3600;

function createLimiter() {
  const policies = createPolicies({
    ...defaultQuotas,
    posts: { calls: 4, windowSeconds: hour },
    calls: { calls: 2, windowSeconds: hour },
    reads: { calls: 2, windowSeconds: hour },
    refusals: { calls: 1, windowSeconds: hour },
    credentials: { calls: 1, windowSeconds: hour },
  });
  return { policies, limiter: createRateLimiter(policies, () => 1_800_000_000_000) };
}

describe("a limited request", () => {
  it("reports the limit of its operation first, then the others, the latest first", () => {
    const { policies, limiter } = createLimiter();
    const limits = limiter.begin(address);
    limits.spendFrom("posts");
    limits.enforce({ policy: policies.posts, decision: { allowed: true, remaining: 3, wait: 0 } });
    limits.noteCredentials();
    limits.spendCall(7);
    expect(limits.fields()).toEqual({
      "ratelimit-policy": '"posts";q=4;w=3600, "calls";q=2;w=3600, "credentials";q=1;w=3600',
      ratelimit: '"posts";r=3;t=0, "calls";r=1;t=1800, "credentials";r=1;t=0',
    });
  });

  it("names the limit of its operation even if it has not spent from it", () => {
    const { limiter } = createLimiter();
    const limits = limiter.begin(address);
    limits.spendFrom("posts");
    limits.spendCall(7);
    expect(limits.fields()).toEqual({
      "ratelimit-policy": '"posts";q=4;w=3600, "calls";q=2;w=3600',
      ratelimit: '"calls";r=1;t=1800',
    });
  });

  it("does not report limits that it was only compared with", () => {
    const { limiter } = createLimiter();
    const limits = limiter.begin(address);
    limits.enforceCredentials();
    limits.spendRead();
    expect(limits.fields().ratelimit).toBe('"reads";r=1;t=1800');
  });

  it("is refused with the limit's words and the whole seconds to wait", () => {
    const { policies, limiter } = createLimiter();
    const limits = limiter.begin(address);
    expect(() =>
      limits.enforce({ policy: policies.credentials, decision: { allowed: false, remaining: 0, wait: 1_000_001 } }),
    ).toThrow(
      expect.objectContaining({
        code: "rate_limited",
        message: "Too many wrong API keys and tokens from this address; try again in 2 s.",
        retryAfterSeconds: 2,
      }),
    );
    expect(limits.refusedBy).toBe("credentials");
  });

  it("reports each limit once, with its latest decision", () => {
    const { limiter } = createLimiter();
    const limits = limiter.begin(address);
    limits.noteCredentials();
    limits.spendCredential();
    expect(limits.fields().ratelimit).toBe('"credentials";r=0;t=3600');
  });

  it("reports the limit of refused requests if it has spent nothing", () => {
    expect(createLimiter().limiter.begin(address).fields().ratelimit).toBe('"refusals";r=1;t=0');
  });

  it("names the limit that has refused it", () => {
    const { limiter } = createLimiter();
    const limits = limiter.begin(address);
    limits.spendRead();
    limits.spendRead();
    expect(limits.refusedBy).toBeUndefined();
    expect(() => limits.spendRead()).toThrow(expect.objectContaining({ code: "rate_limited" }));
    expect(limits.refusedBy).toBe("reads");
  });

  it("is refused at its first read only after its address has sent too many faulty requests", () => {
    const { limiter } = createLimiter();
    const before = limiter.begin(address);
    limiter.spendRefusal(address);
    expect(() => before.spendRead()).not.toThrow();
    const after = limiter.begin(address);
    expect(() => after.spendCall(7)).not.toThrow();
    expect(() => after.spendRead()).toThrow(expect.objectContaining({ code: "rate_limited" }));
    expect(after.refusedBy).toBe("refusals");
    expect(() => limiter.begin("192.0.2.2").spendRead()).not.toThrow();
  });

  it("spends one wrong secret, however many it sends", () => {
    const { limiter } = createLimiter();
    const limits = limiter.begin(address);
    expect(limits.spendCredential()).toBeUndefined();
    expect(limits.spendCredential()).toBeUndefined();
    expect(limits.hasSentWrongSecrets()).toBe(true);
    expect(limiter.begin(address).spendCredential()).toMatchObject({ code: "rate_limited" });
    expect(() => limiter.begin(address).enforceCredentials()).toThrow();
  });

  it("leaves a tenth of a limit to others when it continues to spend", () => {
    const policies = createPolicies({ ...defaultQuotas, reads: { calls: 10, windowSeconds: hour } });
    const limiter = createRateLimiter(policies, () => 1_800_000_000_000);
    const limits = limiter.begin(address);
    expect(limits.spendMore()).toBe(0);
    limits.spendRead();
    for (let count = 0; count < 8; count++) expect(limits.spendMore()).toBe(0);
    expect(limits.spendMore()).toBe(360_000);
    expect(() => limiter.begin(address).spendRead()).not.toThrow();
  });
});

it("without limits, every request is allowed and its response says nothing of limits", () => {
  const limiter = createRateLimiter(undefined, Date.now);
  const { policies } = createLimiter();
  const limits = limiter.begin(address);
  for (let count = 0; count < 10_000; count++) {
    limiter.spendRefusal(address);
    limits.spendCall(7);
    limits.spendRead();
    limits.enforce({ policy: policies.posts, decision: { allowed: false, remaining: 0, wait: 1 } });
    limits.spendCredential();
    limits.enforceCredentials();
  }
  expect(limits.spendMore()).toBe(0);
  expect(limits.hasSentWrongSecrets()).toBe(false);
  expect(limits.refusedBy).toBeUndefined();
  expect(limits.fields()).toEqual({});
});
