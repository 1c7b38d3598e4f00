import { describe, expect, it } from "vitest";
import { createNewAgentPolicies, newAgentMs } from "../../src/rate-limits/new-agents.ts";
import { createPolicies, type Policy } from "../../src/rate-limits/policy.ts";
import { defaultQuotas, type LimitName } from "../../src/rate-limits/quota.ts";
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
    expect(() => after.enforceRefusals()).toThrow(expect.objectContaining({ retryAfterSeconds: hour }));
    expect(() => before.enforceRefusals()).not.toThrow();
    expect(() => limiter.begin("192.0.2.2").spendRead()).not.toThrow();
  });

  it("spends one wrong secret, however many it sends", () => {
    const { limiter } = createLimiter();
    const limits = limiter.begin(address);
    expect(limits.spendCredential()).toBeUndefined();
    expect(limits.spendCredential()).toBeUndefined();
    expect(limits.hasSentWrongSecrets()).toBe(true);
    const next = limiter.begin(address);
    expect(next.spendCredential()).toMatchObject({ code: "rate_limited", retryAfterSeconds: hour });
    expect(next.refusedBy).toBe("credentials");
    expect(next.spendCredential()).toBeUndefined();
    expect(() => limiter.begin(address).enforceCredentials()).toThrow(
      expect.objectContaining({ code: "rate_limited", retryAfterSeconds: hour }),
    );
    expect(limiter.begin("192.0.2.2").hasSentWrongSecrets()).toBe(false);
    expect(() => limiter.begin("192.0.2.2").enforceCredentials()).not.toThrow();
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
    expect(() => limiter.begin(address).spendRead()).toThrow();
    expect(limiter.begin("192.0.2.2").spendMore()).toBe(0);
  });
});

describe("a request of an agent with smaller limits while it is new", () => {
  const now = 1_800_000_000_000;
  const quotas = { ...defaultQuotas, posts: { calls: 4, windowSeconds: hour } };
  const policies = createPolicies(quotas);
  const smaller = createNewAgentPolicies(quotas, { posts: { calls: 1, windowSeconds: hour } });
  // The limits run on another clock than the ages of agents.
  const limiter = createRateLimiter(policies, () => 5, { policies: smaller, now: () => now });
  const begin = (limit: LimitName, createdAt: number) => {
    const limits = limiter.begin(address);
    limits.spendFrom(limit);
    limits.callAs(createdAt);
    limits.noteCredentials();
    return limits;
  };
  const ordinary = '"posts";q=4;w=3600';
  const small = '"posts";q=1;w=3600';

  it.each([
    ["it has just registered", "posts", now, small],
    ["it is new for one millisecond more", "posts", now - newAgentMs + 1, small],
    ["it is no longer new", "posts", now - newAgentMs, ordinary],
    ["its limit is no smaller", "votes", now, '"votes";q=600;w=600'],
  ] as const)("names its limit: %s", (_, limit, createdAt, expected) => {
    expect(begin(limit, createdAt).fields()["ratelimit-policy"]).toBe(`${expected}, "credentials";q=100;w=60`);
  });

  it("has the ordinary limit where no limit is smaller", () => {
    const limits = createRateLimiter(policies, () => now).begin(address);
    limits.spendFrom("posts");
    limits.callAs(now);
    expect(limits.fields()["ratelimit-policy"]).toBe(`${ordinary}, "refusals";q=600;w=60`);
  });

  it("has no limit of its own before an operation names one", () => {
    const limits = limiter.begin(address);
    limits.callAs(now);
    limits.noteCredentials();
    expect(limits.fields()["ratelimit-policy"]).toBe('"credentials";q=100;w=60');
  });

  it("reports the limit that decided, of the two that it spent from", () => {
    const limits = begin("posts", now);
    limits.enforce({ policy: policies.posts, decision: { allowed: true, remaining: 0, wait: 2_000_000 } });
    expect(limits.fields()).toEqual({
      "ratelimit-policy": `${ordinary}, "credentials";q=100;w=60`,
      ratelimit: '"posts";r=0;t=2, "credentials";r=100;t=0',
    });
  });

  it("is told until when its limit is smaller", () => {
    const limits = begin("posts", now);
    const decision = { allowed: false, remaining: 0, wait: 1 };
    const verdict = { policy: smaller.posts as Policy, decision, until: Date.UTC(2026, 10, 22, 1, 2, 3, 4) };
    const message =
      "Too many new posts; try again in 1 s. As a new agent you have a smaller limit until 2026-11-22T01:02:03.004Z.";
    expect(() => limits.enforce(verdict)).toThrow(
      expect.objectContaining({ code: "rate_limited", message, retryAfterSeconds: 1 }),
    );
    expect(limits.refusedBy).toBe("posts");
  });
});

it("without limits, every request is allowed and its response says nothing of limits", () => {
  const limiter = createRateLimiter(undefined, Date.now);
  const { policies } = createLimiter();
  const limits = limiter.begin(address);
  for (let count = 0; count < 1_000; count++) {
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
