import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Access } from "../../../gen/stoa/v1/options_pb.js";
import { accessOf, limitOf } from "../../contract.ts";
import { StoaError } from "../../errors.ts";
import { CallLimits, rateLimited } from "../../limits/call-limits.ts";
import { Meter } from "../../limits/meter.ts";
import type { Policies } from "../../limits/policy.ts";
import { RecentMap } from "../../limits/recent-map.ts";
import { type Arrival, authenticate } from "../admission.ts";
import { ClientAddresses } from "./client-address.ts";

export interface LimitOptions {
  policies: Policies;
  /** Whose X-Forwarded-For is believed; see `ClientAddresses`. */
  trustProxy: readonly string[];
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
}

/** How long a key that was good counts as good for the limits of reads, in milliseconds, and how many are remembered. */
const knownMs = 600_000;
const mostKnown = 20_000;

/**
 * The limits that are kept in this process: of refused requests and wrong credentials by address, and of calls, by agent
 * where it shows a good key and by address otherwise. (Writes are limited besides, in their transaction.)
 */
export class Gate {
  readonly #policies: Policies;
  readonly #addresses: ClientAddresses;
  readonly #now: () => number;
  readonly #reads: Meter<string>;
  readonly #calls: Meter<number>;
  readonly #refusals: Meter<string>;
  readonly #credentials: Meter<string>;
  /** Keys that were good lately, by a hash, with the agent and the time. */
  readonly #known = new RecentMap<string, { agent: number; until: number }>(mostKnown);

  constructor({ policies, trustProxy, now }: LimitOptions) {
    this.#policies = policies;
    this.#now = now;
    this.#addresses = new ClientAddresses(trustProxy);
    this.#reads = new Meter(policies.reads, now);
    this.#calls = new Meter(policies.calls, now);
    this.#refusals = new Meter(policies.refusals, now);
    this.#credentials = new Meter(policies.credentials, now);
  }

  /** To be called first of all. Where the address has sent too many faulty requests, `refusal` says so. */
  open(request: IncomingMessage): CallLimits {
    const limits = new CallLimits(this.#addresses.of(request), this.#credentials);
    const judgement = this.#refusals.look(limits.address);
    if (!judgement.allowed) {
      limits.note(this.#refusals.policy, judgement);
      limits.refusal = rateLimited(this.#refusals.policy, judgement);
    }
    return limits;
  }

  /** To be called when the reply is on its way. */
  close({ address, faulty }: CallLimits): void {
    if (faulty === true) this.#refusals.charge(address);
  }

  /** Counts a request that is no call of a known agent. @throws StoaError `rate_limited` */
  countAnonymous(limits: CallLimits): void {
    if (limits.refusal !== undefined) throw limits.refusal;
    limits.count(this.#reads, limits.address);
  }

  /** What a reply says where nothing was counted. */
  describe(limits: CallLimits): void {
    if (limits.state === "") limits.note(this.#refusals.policy, this.#refusals.look(limits.address));
  }

  /**
   * Counts a call, and finds who makes it where the contract asks for that; a public one is let in at once.
   * @throws StoaError `rate_limited`, `unauthorized`
   */
  admit(limits: CallLimits, arrival: Arrival): Promise<unknown> | undefined {
    if (limits.refusal !== undefined) throw limits.refusal;
    const { rpc, header } = arrival;
    const limit = limitOf(rpc);
    if (limit !== undefined) limits.spendsFrom(this.#policies[limit]);
    const authorization = header("authorization");
    if (accessOf(rpc) !== Access.PUBLIC) return this.#admitCaller(limits, arrival, authorization);
    this.#countPublic(limits, authorization);
    return undefined;
  }

  async #admitCaller(limits: CallLimits, arrival: Arrival, authorization: string | null): Promise<unknown> {
    // Who shows nothing has guessed nothing.
    const caller = await (authorization === null ? authenticate(arrival) : this.#authenticate(limits, arrival));
    const agent = arrival.table.agentOf(caller);
    if (agent === undefined) {
      limits.note(this.#credentials.policy, this.#credentials.look(limits.address));
    } else {
      limits.count(this.#calls, agent);
      this.#known.set(digest(authorization ?? ""), { agent, until: this.#now() + knownMs });
    }
    return caller;
  }

  async #authenticate(limits: CallLimits, arrival: Arrival): Promise<unknown> {
    limits.beforeSecret();
    try {
      return await authenticate(arrival);
    } catch (error) {
      if (error instanceof StoaError && error.code === "unauthorized") limits.wrongSecret();
      throw error;
    }
  }

  /** The agent whose key this is, where the key was good lately. @param authorization the header's value */
  knownAgent(authorization: string): number | undefined {
    const known = this.#known.get(digest(authorization));
    return known === undefined || known.until < this.#now() ? undefined : known.agent;
  }

  /** Credentials are not looked up here: a key counts for its agent once it has been good for a call that asks for it. */
  #countPublic(limits: CallLimits, authorization: string | null): void {
    const agent = authorization === null ? undefined : this.knownAgent(authorization);
    if (agent === undefined) this.countAnonymous(limits);
    else limits.count(this.#calls, agent);
  }
}

function digest(authorization: string): string {
  return hash("sha256", authorization, "base64");
}
