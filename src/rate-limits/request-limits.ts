import type { LimitedRequest, LimitFields } from "./limited-request.ts";

export type { LimitFields } from "./limited-request.ts";

/** The rate limits as one request sees them. If rate limits are off, this is `unlimitedRequest`. */
export type RequestLimits = Pick<LimitedRequest, keyof LimitedRequest>;

const noFields: LimitFields = Object.freeze({});

/** The limits of every request while rate limits are off. */
export const unlimitedRequest: RequestLimits = Object.freeze({
  refusedBy: undefined,
  spendFrom() {},
  callAs() {},
  spendCall() {},
  spendRead() {},
  spendMore: () => 0,
  enforce() {},
  enforceRefusals() {},
  enforceCredentials() {},
  hasSentWrongSecrets: () => false,
  noteCredentials() {},
  spendCredential: () => undefined,
  fields: () => noFields,
});

/** The rate limits of a process. Writes have limits in the database as well, which are charged in their transaction. */
export interface RateLimiter {
  /** Begins a request of a client address. */
  begin(address: string): RequestLimits;
  /** Counts a refused request against a client address. */
  spendRefusal(address: string): void;
}

/** Limits nothing. */
export const unlimited: RateLimiter = {
  begin: () => unlimitedRequest,
  spendRefusal() {},
};
