import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import { Access } from "../../../gen/stoa/v1/options_pb.js";
import type { KeyHolder, ServiceTable, ShownKey } from "../../calls/service-table.ts";
import { accessOf, isPublicWrite, limitOf } from "../../contract/rules.ts";
import { StoaError } from "../../errors.ts";
import { CallLimits, rateLimited } from "../../rate-limits/call-limits.ts";
import { Meter } from "../../rate-limits/meter.ts";
import type { Policies } from "../../rate-limits/policy.ts";
import type { ClientAddresses } from "./client-address.ts";

export interface GateOptions {
  /** Undefined: nothing is limited. */
  policies: Policies | undefined;
  addresses: ClientAddresses;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  table: Pick<ServiceTable, "keys" | "authenticate">;
  /** Throws `StoaError` `unavailable` while the process takes no new work. */
  overload: { check(): void };
}

/** A call before its message is read. */
export interface Arrival {
  rpc: DescMethod;
  /** Gives the value of a request header, by its lower-case name. */
  header(name: string): string | null;
  signal: AbortSignal;
}

interface Meters {
  policies: Policies;
  reads: Meter<string>;
  calls: Meter<number>;
  refusals: Meter<string>;
  credentials: Meter<string>;
}

/**
 * Finds out who makes each request, and applies the limits that are kept in this process. Whoever shows a good API key is
 * judged by the limit of the agent's calls alone. Everybody else is judged by the limits of the address: reads, refused
 * requests and wrong keys. (Writes are limited besides, in their transaction.)
 */
export class Gate {
  readonly #addresses: ClientAddresses;
  readonly #table: GateOptions["table"];
  readonly #meters: Meters | undefined;
  readonly #overload: GateOptions["overload"];

  constructor({ policies, addresses, now, table, overload }: GateOptions) {
    this.#addresses = addresses;
    this.#table = table;
    this.#overload = overload;
    this.#meters = policies && {
      policies,
      reads: new Meter(policies.reads, now),
      calls: new Meter(policies.calls, now),
      refusals: new Meter(policies.refusals, now),
      credentials: new Meter(policies.credentials, now),
    };
  }

  /** Whether anything is limited. */
  get limits(): boolean {
    return this.#meters !== undefined;
  }

  /** To be called first of all. Where the address has sent too many faulty requests, `refusal` says so. */
  open(request: IncomingMessage): CallLimits {
    const { address, counted } = this.#addresses.locate(request);
    const limits = new CallLimits(counted, this.#meters?.credentials, address);
    if (this.#meters === undefined) return limits;
    const { policy } = this.#meters.refusals;
    const judgement = this.#meters.refusals.look(limits.address);
    if (!judgement.allowed) limits.refusal = rateLimited(policy, judgement);
    return limits;
  }

  /** To be called when the reply is on its way. An agent's faults do not count against the address it comes from. */
  close({ address, agent, faulty }: CallLimits): void {
    if (faulty === true && agent === undefined) this.#meters?.refusals.charge(address);
  }

  /** To be called when what a connection has sent is no request at all: it counts as a refused one. */
  countUnparsable(socket: Socket): void {
    const peer = this.#addresses.ofConnection(socket);
    if (peer !== undefined) this.#meters?.refusals.charge(peer);
  }

  /** What a reply says where nothing was counted. */
  describe(limits: CallLimits): void {
    if (this.#meters === undefined || limits.state !== "") return;
    const { refusals } = this.#meters;
    limits.note(refusals.policy, refusals.look(limits.address));
  }

  /**
   * Counts a request that is no call of the contract: for its agent where it shows a good key, else for its address. It
   * returns at once where no key has to be looked up.
   * @throws StoaError `rate_limited`, `unavailable`
   */
  visit(limits: CallLimits, authorization: string | null): Promise<void> | undefined {
    this.#overload.check();
    return this.#visit(limits, this.#table.keys.shown(authorization));
  }

  /** Finds out whether a request shows a good key. It counts nothing but a wrong one, and refuses nobody. */
  async identify(limits: CallLimits, authorization: string | null): Promise<void> {
    const key = this.#table.keys.shown(authorization);
    if (key === undefined) return;
    limits.agent = this.#table.keys.agentOf(key);
    if (limits.agent !== undefined) return;
    const holder = await this.#findUnknown(limits, key, undefined);
    if (isGood(holder)) limits.agent = holder.agent.id;
    else limits.wrongSecret();
  }

  /**
   * Counts a call, and finds who makes it where the contract asks for that (undefined elsewhere). It returns at once where
   * no key has to be looked up.
   * @throws StoaError `rate_limited`, `unauthorized`, `forbidden`, `unavailable`
   */
  admit(limits: CallLimits, arrival: Arrival): unknown {
    this.#overload.check();
    const { rpc, header } = arrival;
    const limit = limitOf(rpc);
    if (limit !== undefined && this.#meters !== undefined) limits.spendsFrom(this.#meters.policies[limit]);
    const access = accessOf(rpc);
    if (access === Access.OPERATOR) return this.#admitOperator(limits, arrival);
    // Without a key to show, a page of another site could write in the name of its visitor, and from the visitor's address.
    if (isPublicWrite(rpc) && header("sec-fetch-site") === "cross-site") {
      this.#refuseAnonymous(limits);
      throw new StoaError("forbidden", "Pages of other sites may not do this.");
    }
    const key = this.#table.keys.shown(header("authorization"));
    return access === Access.PUBLIC ? this.#visit(limits, key, arrival.signal) : this.#admitAgent(limits, arrival, key);
  }

  #visit(limits: CallLimits, key: ShownKey | undefined, signal?: AbortSignal): Promise<void> | undefined {
    if (key === undefined) {
      this.#countAnonymous(limits);
      return undefined;
    }
    const agent = this.#table.keys.agentOf(key);
    if (agent === undefined) return this.#visitWithUnknownKey(limits, key, signal);
    this.#countAgent(limits, agent);
    return undefined;
  }

  /** A wrong key on a public operation is ignored, but counts as wrong. */
  async #visitWithUnknownKey(limits: CallLimits, key: ShownKey, signal: AbortSignal | undefined): Promise<void> {
    const holder = await this.#findUnknown(limits, key, signal);
    if (isGood(holder)) return this.#countAgent(limits, holder.agent.id);
    limits.wrongSecret();
    this.#countAnonymous(limits);
  }

  async #admitAgent(limits: CallLimits, arrival: Arrival, key: ShownKey | undefined): Promise<unknown> {
    const known = key && this.#table.keys.agentOf(key);
    // Before the query: a refused call costs none.
    if (known !== undefined) this.#countAgent(limits, known);
    const holder = key && (await this.#findHolder(limits, arrival, key, known !== undefined));
    const isWrong = key !== undefined && known === undefined && !isGood(holder);
    if (!isGood(holder)) limits.agent = undefined;
    else if (known === undefined) this.#countAgent(limits, holder.agent.id);
    // A key that is past may repeat its rotation, which takes a query more to find out.
    if (isWrong && holder !== undefined) {
      this.#refuseAnonymous(limits);
      limits.beforeSecret();
    }
    let caller: unknown;
    try {
      caller = await this.#authenticate(arrival, holder);
    } catch (error) {
      if (!isUnauthorized(error) || limits.agent !== undefined) throw error;
      this.#refuseAnonymous(limits);
      throw (isWrong && limits.wrongSecret()) || error;
    }
    if (limits.agent === undefined && holder !== undefined) this.#countAgent(limits, holder.agent.id);
    return caller;
  }

  /** The right token is let in whatever its address has sent: an attacker there must not lock the operator out. */
  async #admitOperator(limits: CallLimits, arrival: Arrival): Promise<unknown> {
    try {
      const caller = await this.#authenticate(arrival, undefined);
      if (this.#meters !== undefined) {
        const { credentials } = this.#meters;
        limits.note(credentials.policy, credentials.look(limits.address));
      }
      return caller;
    } catch (error) {
      this.#refuseAnonymous(limits);
      // Who shows nothing has guessed nothing.
      throw (arrival.header("authorization") !== null && limits.wrongSecret()) || error;
    }
  }

  #authenticate({ rpc, header, signal }: Arrival, holder: KeyHolder | undefined): Promise<unknown> {
    return this.#table.authenticate(rpc, holder, header, signal);
  }

  #findHolder(limits: CallLimits, { signal }: Arrival, key: ShownKey, isKnown: boolean) {
    return isKnown ? this.#table.keys.find(key, signal) : this.#findUnknown(limits, key, signal);
  }

  /** Only an address that has sent many wrong keys is answered from what is remembered of wrong ones. */
  #findUnknown({ address }: CallLimits, key: ShownKey, signal: AbortSignal | undefined) {
    const mayBeRemembered = this.#meters?.credentials.look(address).allowed === false;
    return this.#table.keys.findUnknown(key, mayBeRemembered, signal);
  }

  #countAgent(limits: CallLimits, agent: number): void {
    limits.agent = agent;
    if (this.#meters !== undefined) limits.count(this.#meters.calls, agent);
  }

  #countAnonymous(limits: CallLimits): void {
    this.#refuseAnonymous(limits);
    if (this.#meters !== undefined) limits.count(this.#meters.reads, limits.address);
  }

  #refuseAnonymous(limits: CallLimits): void {
    if (limits.refusal === undefined || this.#meters === undefined) return;
    const { refusals } = this.#meters;
    limits.note(refusals.policy, refusals.look(limits.address));
    limits.refusedBy = refusals.policy.name;
    throw limits.refusal;
  }
}

function isGood(holder: KeyHolder | undefined): holder is KeyHolder {
  return holder !== undefined && holder.standing !== "past";
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof StoaError && error.code === "unauthorized";
}
