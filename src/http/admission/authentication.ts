import type { DescMethod } from "@bufbuild/protobuf";
import type { Admitted } from "../../calls/call.ts";
import { Operator } from "../../calls/operator.ts";
import type { KeyHolder, ServiceTable, ShowingCall, ShownKey } from "../../calls/service-table.ts";
import { registrationHeader } from "../../contract/registration.ts";
import { StoaError, StoredDamage } from "../../errors.ts";
import type { RequestContext } from "../requests/context.ts";

/** Headers are looked up by their lower-case names. */
const registrationToken = registrationHeader.toLowerCase();

/** What the services know of credentials. */
export type CredentialTable = Pick<ServiceTable, "keys" | "authenticate" | "checkRegistration">;

/** Finds out who makes a request, and what that spends from the rate limits. */
export class Authentication {
  readonly #table: CredentialTable;

  constructor(table: CredentialTable) {
    this.#table = table;
  }

  /** Looks up an unknown key. @returns the agent; undefined where the key is not good */
  async findAgent(context: RequestContext, key: ShownKey, call: ShowingCall | undefined): Promise<number | undefined> {
    const holder = await this.#findUnknown(context, key, call);
    return isGood(holder) ? holder.agent.id : undefined;
  }

  /** Admits a call that requires an agent. @throws StoaError `rate_limited`, `unauthorized` */
  async admitAgent(context: RequestContext, rpc: DescMethod, key: ShownKey | undefined): Promise<Admitted["caller"]> {
    const { limits } = context;
    const call = { rpc, signal: context.signal };
    const { keys } = this.#table;
    const known = key && keys.agentOf(key);
    // Spent before the query, so that a refused call costs none.
    if (known !== undefined) spendCall(context, known);
    const holder = key && (await (known === undefined ? this.#findUnknown(context, key, call) : keys.find(key, call)));
    const isWrong = key !== undefined && known === undefined && !isGood(holder);
    if (!isGood(holder)) context.notes.agent = undefined;
    else if (known === undefined) spendCall(context, holder.agent.id);
    // A past key may repeat its rotation, which takes another query to find out.
    if (isWrong && holder !== undefined) {
      limits.enforceRefusals();
      limits.enforceCredentials();
    }
    let caller: Admitted["caller"];
    try {
      caller = await this.#authenticate(context, rpc, holder);
      if (caller !== undefined && !(caller instanceof Operator)) limits.callAs(caller.createdAt);
    } catch (error) {
      logDamage(context, rpc, error);
      if (!isUnauthorized(error) || context.notes.agent !== undefined) throw error;
      limits.enforceRefusals();
      throw (isWrong && limits.spendCredential()) || error;
    }
    if (context.notes.agent === undefined && holder !== undefined) spendCall(context, holder.agent.id);
    return caller;
  }

  /**
   * Admits a call that requires an agent, of a request that has spent its call. An operator's token admits nothing here.
   * @throws StoaError `unauthorized`
   */
  async admitVisitingAgent(
    context: RequestContext,
    rpc: DescMethod,
    key: ShownKey | undefined,
    idempotencyKey: string | null | undefined,
  ): Promise<Admitted["caller"]> {
    try {
      const holder = key && (await this.#table.keys.find(key, { rpc, signal: context.signal }));
      const caller = await this.#authenticate(context, rpc, holder, idempotencyKey ?? null);
      if (caller !== undefined && !(caller instanceof Operator)) context.limits.callAs(caller.createdAt);
      return caller;
    } catch (error) {
      logDamage(context, rpc, error);
      throw error;
    }
  }

  /**
   * Admits a call that requires the operator. The right token is accepted whatever its address has sent, so that an
   * attacker at the same address cannot lock the operator out.
   * @throws StoaError `rate_limited`, `unauthorized`
   */
  async admitOperator(context: RequestContext, rpc: DescMethod): Promise<Admitted["caller"]> {
    const { limits } = context;
    try {
      const caller = await this.#authenticate(context, rpc, undefined);
      limits.noteCredentials();
      return caller;
    } catch (error) {
      limits.enforceRefusals();
      // A request that shows nothing has guessed nothing.
      throw (context.header("authorization") !== null && limits.spendCredential()) || error;
    }
  }

  /**
   * Admits a registration that has spent its call. As for the operator, the right token is accepted whatever its address has
   * sent. A wrong one counts against the address, whether or not the request also shows a good API key.
   * @param visit completes once the call is spent
   * @throws StoaError `rate_limited`, `unauthorized`, `forbidden`
   */
  async admitRegistration(context: RequestContext, visit: Promise<undefined> | undefined): Promise<undefined> {
    const { limits } = context;
    await visit;
    // An empty value shows nothing.
    const token = context.header(registrationToken) || null;
    try {
      this.#table.checkRegistration(token);
    } catch (error) {
      throw (token !== null && isUnauthorized(error) && limits.spendCredential()) || error;
    }
    return undefined;
  }

  #authenticate(
    context: RequestContext,
    rpc: DescMethod,
    holder: KeyHolder | undefined,
    idempotencyKey = context.header("idempotency-key"),
  ): Promise<Admitted["caller"]> {
    const [authorization, otherKey] = [context.header("authorization"), context.header("x-api-key")];
    return this.#table.authenticate(rpc, holder, { authorization, otherKey, idempotencyKey }, context.signal);
  }

  /** The memory of wrong keys decides only for an address that has sent many. For others, the key is looked up each time. */
  #findUnknown({ limits }: RequestContext, key: ShownKey, call: ShowingCall | undefined) {
    return this.#table.keys.findUnknown(key, limits.hasSentWrongSecrets(), call);
  }
}

function spendCall(context: RequestContext, agent: number): void {
  context.notes.agent = agent;
  context.limits.spendCall(agent);
}

function isGood(holder: KeyHolder | undefined): holder is KeyHolder {
  return holder !== undefined && holder.standing !== "past";
}

/** The interceptors log damaged rows, and this call does not reach them. */
function logDamage(context: RequestContext, rpc: DescMethod, err: unknown): void {
  if (err instanceof StoredDamage)
    context.log.error({ err, rpc: `${rpc.parent.typeName}/${rpc.name}` }, "a call failed");
}

function isUnauthorized(error: unknown): boolean {
  return error instanceof StoaError && error.code === "unauthorized";
}
