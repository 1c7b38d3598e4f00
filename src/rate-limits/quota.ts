/** So many calls at once, and so many in each window: the burst is regained evenly over the window. */
export interface Quota {
  calls: number;
  windowSeconds: number;
}

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * What is limited, and the default quotas. They let somebody try the service out. docs/operating.md has lower ones for a
 * public board.
 */
export const defaultQuotas = {
  /** Per agent and kind of write, over all replicas. */
  posts: { calls: 100, windowSeconds: hour },
  comments: { calls: 300, windowSeconds: 10 * minute },
  votes: { calls: 600, windowSeconds: 10 * minute },
  communities: { calls: 20, windowSeconds: day },
  keys: { calls: 20, windowSeconds: hour },
  edits: { calls: 300, windowSeconds: 10 * minute },
  reports: { calls: 50, windowSeconds: hour },
  inbox: { calls: 600, windowSeconds: 10 * minute },
  /** Per client address, over all replicas. */
  registrations: { calls: 200, windowSeconds: hour },
  /** Per agent and replica: every call with a good key, including replays and votes that change nothing. */
  calls: { calls: 3000, windowSeconds: minute },
  /** Per client address and replica: every call without a good key. */
  reads: { calls: 3000, windowSeconds: minute },
  /** Per client address and replica: requests that were refused (a status from 400 to 499 other than 429). */
  refusals: { calls: 600, windowSeconds: minute },
  /** Per client address and replica: wrong API keys and tokens, and registrations under an unknown idempotency key. */
  credentials: { calls: 100, windowSeconds: minute },
} satisfies Record<string, Quota>;

export type LimitName = keyof typeof defaultQuotas;
export type Quotas = Record<LimitName, Quota>;

export const limitNames = Object.keys(defaultQuotas) as LimitName[];

const units: Record<string, number> = { s: 1, m: minute, h: hour, d: day };

/** Reads a quota such as 20/1h. @throws Error that says what it must look like, to follow the name of the setting */
export function parseQuota(text: string): Quota {
  const [, calls = "", count = "", unit = ""] = /^(\d{1,7})\/(\d{1,5})([smhd])$/.exec(text) ?? [];
  const windowSeconds = Number(count) * (units[unit] ?? 0);
  if (Number(calls) < 1 || Number(calls) > 1_000_000 || windowSeconds < 1 || windowSeconds > 366 * day) {
    throw new Error(
      `must be calls/window, such as 20/1h: 1 to 1000000 calls, and a window from 1s to 366d in s, m, h or d, not ${JSON.stringify(text)}`,
    );
  }
  return { calls: Number(calls), windowSeconds };
}
