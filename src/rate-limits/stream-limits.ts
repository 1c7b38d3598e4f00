import type { SlotLimits } from "./slots.ts";

/** How many streams may be open at a time, and for how long. These limits do not depend on the rate limits. */
export interface StreamLimits extends SlotLimits {
  /** For callers without a good key, on one connection; trusted proxies are exempt. */
  perConnection: number;
  /** How long a stream may last, in milliseconds. Each ends between nine tenths of this and all of it. */
  maxMs: number;
}

/**
 * An open stream takes 30 to 50 KiB, and some 110 KiB if its client reads nothing. With `npm start` the process stays well
 * below its limits even if all streams are open.
 */
export const defaultStreamLimits: StreamLimits = {
  total: 1_500,
  perConnection: 100,
  perAddress: 256,
  perAgent: 100,
  maxMs: 3_600_000,
};
