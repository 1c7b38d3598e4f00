import { StoaError } from "../errors.ts";
import type { Judgement } from "./gcra.ts";
import { countedBy } from "./limit-texts.ts";
import type { Meter } from "./meter.ts";
import { type Policy, wholeSeconds } from "./policy.ts";

/** What is known of one call's limits while it runs, and what its reply's header fields say of them. */
export class CallLimits {
  /** The client's address, as it is counted. */
  readonly address: string;
  /** The client's address as it is, for the log. */
  readonly fullAddress: string;
  /** The limit that has refused the call. */
  refusedBy: Policy["name"] | undefined;
  /** The agent whose good key the call shows, also on a public operation. Its own limits alone apply then. */
  agent: number | undefined;
  /** Why a call without a good key goes no further. */
  refusal: StoaError | undefined;
  /** Whether it was refused for a fault of the caller's; undefined while that is open. */
  faulty: boolean | undefined;
  /** What is left to do once the transaction of a refused write has rolled back. */
  afterRefusal: (() => Promise<void>) | undefined;
  readonly #credentials: Meter<string> | undefined;
  #countedWrong = false;
  /** The limit of the call's own kind. */
  #own: Policy | undefined;
  #ownState = "";
  /** Those of all calls. */
  #policies = "";
  #state = "";
  /** Where the call was counted, and for whom. */
  #meter: Meter<unknown> | undefined;
  #counted: unknown;

  /**
   * @param credentials undefined where nothing is limited
   * @param fullAddress the client's address as it is
   */
  constructor(address: string, credentials: Meter<string> | undefined, fullAddress = address) {
    this.address = address;
    this.fullAddress = fullAddress;
    this.#credentials = credentials;
  }

  /** The value of RateLimit-Policy: what applies to this call. */
  get policies(): string {
    return joined(this.#own?.item ?? "", this.#policies);
  }

  /** The value of RateLimit: how the caller stands now. */
  get state(): string {
    return joined(this.#ownState, this.#state);
  }

  /** Says from which limit of its own the call spends, if it takes effect. */
  spendsFrom(policy: Policy): void {
    this.#own = policy;
  }

  /** Counts the call. @throws StoaError `rate_limited` */
  count<Key>(meter: Meter<Key>, key: Key): void {
    this.#meter = meter as Meter<unknown>;
    this.#counted = key;
    this.take(meter.policy, meter.charge(key));
  }

  /**
   * Counts a call that goes on once more where it was counted. A tenth of the limit is left to other calls.
   * @returns the time to wait before another try, in milliseconds; 0 when it is counted
   */
  spendMore(): number {
    if (this.#meter === undefined) return 0;
    const reserve = Math.floor(this.#meter.policy.burst / 10);
    const { allowed, wait } = this.#meter.charge(this.#counted, reserve);
    return allowed ? 0 : Math.max(1, Math.ceil(wait / 1000));
  }

  /** Takes note of what a limit says; its own one's word may come again. @throws StoaError `rate_limited` */
  take(policy: Policy, judgement: Judgement): void {
    this.note(policy, judgement);
    if (!judgement.allowed) throw this.refuse(policy, judgement);
  }

  /** The refusal by a limit, which is noted for the log. */
  refuse(policy: Policy, judgement: Judgement): StoaError {
    this.refusedBy = policy.name;
    return rateLimited(policy, judgement);
  }

  /** As `take`, and refuses nothing. */
  note(policy: Policy, judgement: Judgement): void {
    const state = policy.stateItem(judgement);
    if (policy === this.#own) {
      this.#ownState = state;
    } else {
      this.#policies = joined(policy.item, this.#policies);
      this.#state = joined(state, this.#state);
    }
  }

  /**
   * To be called before a secret that a client sends is looked up.
   * @throws StoaError `rate_limited` where its address has sent too many wrong ones
   */
  beforeSecret(): void {
    const judgement = this.#credentials?.look(this.address);
    if (judgement?.allowed === false) this.take((this.#credentials as Meter<string>).policy, judgement);
  }

  /**
   * To be called when the secret is not known: it counts against the address, once for each call.
   * @returns the refusal where the address has sent too many wrong ones
   */
  wrongSecret(): StoaError | undefined {
    if (this.#credentials === undefined || this.#countedWrong) return undefined;
    this.#countedWrong = true;
    const { policy } = this.#credentials;
    const judgement = this.#credentials.charge(this.address);
    this.note(policy, judgement);
    return judgement.allowed ? undefined : this.refuse(policy, judgement);
  }
}

function joined(first: string, rest: string): string {
  return first === "" ? rest : rest === "" ? first : `${first}, ${rest}`;
}

/** The refusal of a call that comes too soon. */
export function rateLimited(policy: Policy, { wait }: Judgement): StoaError {
  const seconds = wholeSeconds(wait);
  const message = `Too many ${countedBy(policy.name)}; try again in ${seconds} s.`;
  return new StoaError("rate_limited", message, { retryAfterSeconds: seconds });
}
