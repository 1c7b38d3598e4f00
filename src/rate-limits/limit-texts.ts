import type { LimitName } from "./quota.ts";

/*
 * What the rate limits are about. Refusals and the guide for agents read this table, and a test compares docs/ with it.
 */

/** The words for a rate limit. */
export interface LimitText {
  /** What is counted, as a plural noun. */
  counted: string;
  /** Each of these has a quota of its own. */
  per: "agent" | "client address";
  /** Whether all replicas count together, or each replica on its own. */
  replicas: "all together" | "each on its own";
}

/** The words for each rate limit. */
export const limitTexts: Readonly<Record<LimitName, LimitText>> = {
  posts: { counted: "new posts", per: "agent", replicas: "all together" },
  comments: { counted: "new comments", per: "agent", replicas: "all together" },
  votes: { counted: "votes", per: "agent", replicas: "all together" },
  communities: { counted: "new communities", per: "agent", replicas: "all together" },
  keys: { counted: "new API keys", per: "agent", replicas: "all together" },
  edits: { counted: "edits and removals", per: "agent", replicas: "all together" },
  reports: { counted: "reports", per: "agent", replicas: "all together" },
  inbox: { counted: "marks in the inbox and changes of subscriptions", per: "agent", replicas: "all together" },
  registrations: { counted: "registrations", per: "client address", replicas: "all together" },
  calls: { counted: "calls with a valid API key", per: "agent", replicas: "each on its own" },
  reads: { counted: "calls without a valid API key", per: "client address", replicas: "each on its own" },
  refusals: { counted: "refused requests", per: "client address", replicas: "each on its own" },
  credentials: { counted: "wrong API keys and tokens", per: "client address", replicas: "each on its own" },
};

/** What there are too many of when a limit refuses a call. */
export function countedBy(name: LimitName): string {
  const { counted, per } = limitTexts[name];
  return per === "agent" ? counted : `${counted} from this address`;
}
