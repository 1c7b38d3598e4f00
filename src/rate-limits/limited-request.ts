import { StoaError } from "../errors.ts";
import type { Decision } from "./gcra.ts";
import { countedBy } from "./limit-texts.ts";
import type { LocalLimit } from "./local-limit.ts";
import { type NewAgentPolicies, newUntil, type Verdict } from "./new-agents.ts";
import { type Policies, type Policy, wholeSeconds } from "./policy.ts";
import type { LimitName } from "./quota.ts";

/** The limits that are not stored in the database. */
export interface LocalLimits {
  readonly policies: Policies;
  /** The smaller limits of new agents, where there are any. */
  readonly newAgentPolicies: NewAgentPolicies;
  /** Gives the time by which agents are new, in milliseconds since 1970 (UTC). */
  readonly dateNow: () => number;
  /** By agent. */
  readonly calls: LocalLimit;
  /** The others are by client address. */
  readonly reads: LocalLimit;
  readonly refusals: LocalLimit;
  readonly credentials: LocalLimit;
}

/** The RateLimit header fields of a response, by their names; none if nothing is limited. */
export type LimitFields = Readonly<Record<string, string>>;

/**
 * What one request has spent from the rate limits, and what they have decided. It makes the header fields of the response
 * from the decisions.
 */
export class LimitedRequest {
  /** The limit that has refused the request. */
  refusedBy: LimitName | undefined = undefined;
  readonly #limits: LocalLimits;
  /** The client's address, as it is counted. */
  readonly #address: string;
  /** What the limit of refused requests said of the address when this request began. */
  readonly #refusals: Decision;
  readonly #decisions = new Map<Policy, Decision>();
  /** The limit of the operation itself. */
  #own: Policy | undefined = undefined;
  /** The limit that the request has spent from, and for whom. */
  #spent: LocalLimit | undefined = undefined;
  #spender: string | number = "";
  #hasSpentCredential = false;

  constructor(limits: LocalLimits, address: string) {
    this.#limits = limits;
    this.#address = address;
    this.#refusals = limits.refusals.check(address);
  }

  /** Names the limit of the operation itself, from which the request spends if it takes effect. */
  spendFrom(name: LimitName): void {
    this.#own = this.#limits.policies[name];
  }

  /**
   * To be called when it is known who calls: a new agent may have smaller limits.
   * @param createdAt when the agent registered, in milliseconds since 1970
   */
  callAs(createdAt: number): void {
    const smaller = this.#own && this.#limits.newAgentPolicies[this.#own.name];
    if (smaller !== undefined && newUntil(createdAt, this.#limits.dateNow()) !== undefined) this.#own = smaller;
  }

  /** Spends a call of an agent. @throws StoaError `rate_limited` */
  spendCall(agent: number): void {
    this.#spend(this.#limits.calls, agent);
  }

  /**
   * Spends a read of the client's address.
   * @throws StoaError `rate_limited`, also if too many requests of the address were refused
   */
  spendRead(): void {
    this.enforceRefusals();
    this.#spend(this.#limits.reads, this.#address);
  }

  /**
   * Spends one more call of a stream, from the limit that its request was spent from. A tenth of that limit is left to other
   * requests.
   * @returns the time to wait before the next try, in milliseconds; 0 once the call is spent
   */
  spendMore(): number {
    if (this.#spent === undefined) return 0;
    const reserve = Math.floor(this.#spent.policy.burst / 10);
    const { allowed, wait } = this.#spent.spend(this.#spender, reserve);
    return allowed ? 0 : Math.max(1, Math.ceil(wait / 1000));
  }

  /** Records what a limit has decided. @throws StoaError `rate_limited` if it refuses the request */
  enforce(verdict: Verdict): void {
    const { policy, decision } = verdict;
    // A new agent has two limits. The one that decided is reported.
    if (policy.name === this.#own?.name) this.#own = policy;
    this.#decisions.set(policy, decision);
    if (!decision.allowed) throw this.#refuse(verdict);
  }

  /** Refuses the request if too many requests of the client's address were refused. @throws StoaError `rate_limited` */
  enforceRefusals(): void {
    if (!this.#refusals.allowed) this.enforce({ policy: this.#limits.refusals.policy, decision: this.#refusals });
  }

  /**
   * To be called before a secret that the client sends is looked up.
   * @throws StoaError `rate_limited` if its address has sent too many wrong ones
   */
  enforceCredentials(): void {
    const { credentials } = this.#limits;
    const decision = credentials.check(this.#address);
    if (!decision.allowed) this.enforce({ policy: credentials.policy, decision });
  }

  /** Whether the client's address has sent too many wrong secrets. */
  hasSentWrongSecrets(): boolean {
    return !this.#limits.credentials.check(this.#address).allowed;
  }

  /** Records how many wrong secrets the client's address may still send. */
  noteCredentials(): void {
    const { credentials } = this.#limits;
    this.#decisions.set(credentials.policy, credentials.check(this.#address));
  }

  /**
   * To be called when a secret is not known: it counts against the client's address, once for each request.
   * @returns the refusal if the address has sent too many wrong ones
   */
  spendCredential(): StoaError | undefined {
    if (this.#hasSpentCredential) return undefined;
    this.#hasSpentCredential = true;
    const { credentials } = this.#limits;
    const decision = credentials.spend(this.#address);
    this.#decisions.set(credentials.policy, decision);
    return decision.allowed ? undefined : this.#refuse({ policy: credentials.policy, decision });
  }

  /** The header fields of the response: first the limit of the operation itself, then the others, the latest first. */
  fields(): LimitFields {
    const { refusals } = this.#limits;
    if (this.#decisions.size === 0) this.#decisions.set(refusals.policy, refusals.check(this.#address));
    let policies = "";
    let state = "";
    for (const [policy, decision] of this.#decisions) {
      if (policy === this.#own) continue;
      policies = joined(policy.item, policies);
      state = joined(policy.stateItem(decision), state);
    }
    if (this.#own !== undefined) {
      const decision = this.#decisions.get(this.#own);
      policies = joined(this.#own.item, policies);
      if (decision !== undefined) state = joined(this.#own.stateItem(decision), state);
    }
    return { "ratelimit-policy": policies, ratelimit: state };
  }

  #spend(limit: LocalLimit, key: string | number): void {
    this.#spent = limit;
    this.#spender = key;
    this.enforce({ policy: limit.policy, decision: limit.spend(key) });
  }

  #refuse({ policy, decision, until }: Verdict): StoaError {
    this.refusedBy = policy.name;
    const seconds = wholeSeconds(decision.wait);
    const limit = `Too many ${countedBy(policy.name)}; try again in ${seconds} s.`;
    const message =
      until === undefined
        ? limit
        : `${limit} As a new agent you have a smaller limit until ${new Date(until).toISOString()}.`;
    return new StoaError("rate_limited", message, { retryAfterSeconds: seconds });
  }
}

function joined(first: string, rest: string): string {
  return rest === "" ? first : `${first}, ${rest}`;
}
