// The smaller limits of new agents: which quotas they have, and which of two limits decides.
import { describe, expect, it } from "vitest";
import { createNewAgentPolicies, parseNewAgentQuotas } from "../../src/rate-limits/new-agents.ts";
import { defaultQuotas, type Quota } from "../../src/rate-limits/quota.ts";

const hour = 3600;

describe("the setting", () => {
  it("is read, with blanks around the commas", () => {
    expect(parseNewAgentQuotas("posts=5/1h, comments=20/10m,edits=1/1d")).toEqual({
      posts: { calls: 5, windowSeconds: hour },
      comments: { calls: 20, windowSeconds: 600 },
      edits: { calls: 1, windowSeconds: 24 * hour },
    });
  });

  it.each([
    ["calls=5/1h", /^must be limits of posts, .* such as posts=5\/1h,comments=20\/1h, not "calls=5\/1h"$/],
    ["toString=5/1h", /^must be limits of /],
    ["posts", /^must be limits of /],
    ["posts=5/1h,", /^must be limits of /],
    ["comments=5/1h,posts=5 / 1h", /^is wrong at posts: a limit must be calls\/window/],
    ["posts=5/1h,posts=6/1h", /^must not name posts twice$/],
  ])("is refused: %s", (text, message) => {
    expect(() => parseNewAgentQuotas(text)).toThrow(message);
  });
});

describe("the quota of a new agent", () => {
  const quota = (calls: number, windowSeconds: number): Quota => ({ calls, windowSeconds });
  it.each([
    ["is the smaller one", quota(5, hour), quota(100, hour), "5 in 3600 s"],
    ["may have another window", quota(5, 24 * hour), quota(100, hour), "5 in 86400 s"],
    ["is the ordinary one if that is smaller", quota(500, hour), quota(100, hour), undefined],
    ["is the ordinary one if both are the same", quota(100, hour), quota(100, hour), undefined],
    ["allows no more in the long run than the ordinary one", quota(10, 60), quota(20, hour), "10 in 1800 s"],
    ["allows no more at once than the ordinary one", quota(100, 24 * hour), quota(20, hour), "20 in 17280 s"],
    ["is rounded towards less", quota(2, 1), quota(3, 10), "2 in 7 s"],
  ])("%s", (_, own, ordinary, expected) => {
    const { posts } = createNewAgentPolicies({ ...defaultQuotas, posts: ordinary }, { posts: own });
    expect(posts && `${posts.burst} in ${posts.windowSeconds} s`).toBe(expected);
    expect(posts?.name).toBe(posts && "posts");
  });

  it("exists only where it is set", () => {
    expect(createNewAgentPolicies(defaultQuotas, {})).toEqual({});
    expect(Object.keys(createNewAgentPolicies(defaultQuotas, { votes: quota(1, hour) }))).toEqual(["votes"]);
  });
});
