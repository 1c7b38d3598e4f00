import type { StoaError } from "../errors.ts";
import type { Verdict } from "./new-agents.ts";
import type { LimitName } from "./quota.ts";

/** The RateLimit header fields of a response, by their names; none where nothing is limited. */
export type LimitFields = Readonly<Record<string, string>>;

/**
 * The rate limits as one request sees them. It spends from them, gathers their decisions, and renders the decisions into
 * the header fields of the response. Where rate limits are off, `unlimitedRequest` allows everything.
 */
export interface RequestLimits {
  /** The limit that has refused the request. */
  readonly refusedBy: LimitName | undefined;

  /** Names the limit of the operation itself, from which the request spends if it takes effect. */
  spendFrom(name: LimitName): void;

  /**
   * To be called when it is known who calls: a new agent may have smaller limits.
   * @param createdAt when the agent registered, in milliseconds since 1970
   */
  callAs(createdAt: number): void;

  /** Spends a call of an agent. @throws StoaError `rate_limited` */
  spendCall(agent: number): void;

  /**
   * Spends a read of the client's address.
   * @throws StoaError `rate_limited`, also where the address has sent too many faulty requests
   */
  spendRead(): void;

  /**
   * Spends one more call, of a request that goes on, from the limit that it has spent from. A tenth of that limit is left to
   * other requests.
   * @returns the time to wait before the next try, in milliseconds; 0 once the call is spent
   */
  spendMore(): number;

  /** Gathers what a limit decides. @throws StoaError `rate_limited` where it refuses the request */
  enforce(verdict: Verdict): void;

  /** Refuses the request where the client's address has sent too many faulty requests. @throws StoaError `rate_limited` */
  enforceRefusals(): void;

  /**
   * To be called before a secret that the client sends is looked up.
   * @throws StoaError `rate_limited` where its address has sent too many wrong ones
   */
  enforceCredentials(): void;

  /** Whether the client's address has sent too many wrong secrets. */
  hasSentWrongSecrets(): boolean;

  /** Gathers how many wrong secrets the client's address may still send. */
  noteCredentials(): void;

  /**
   * To be called when a secret is not known: it counts against the client's address, once for each request.
   * @returns the refusal where the address has sent too many wrong ones
   */
  spendCredential(): StoaError | undefined;

  /** What the response says of the limits. */
  fields(): LimitFields;
}

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

/** The rate limits of a process. (Writes are limited besides, in their transaction.) */
export interface RateLimiter {
  /** Begins a request of a client address. */
  begin(address: string): RequestLimits;
  /** Counts a faulty request against a client address. */
  spendRefusal(address: string): void;
}

/** Limits nothing. */
export const unlimited: RateLimiter = {
  begin: () => unlimitedRequest,
  spendRefusal() {},
};
