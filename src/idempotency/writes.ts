import { fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Board, Unit } from "../board/board.ts";
import type { Repair, WriteLimits } from "../board/write-limits.ts";
import { callerOf, callOf } from "../calls/call.ts";
import { replayedHeader } from "../calls/unary-call.ts";
import { rulesOf } from "../contract/rules.ts";
import type { StoaError } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Sealing } from "../ledger/sealing/append.ts";
import { AttemptClaims } from "./attempt-claims.ts";
import { type Claim, claimKey, damagedResponse, findStoredResponse, storeResponse } from "./claims.ts";
import { readClaim } from "./idempotency-key.ts";
import { itemOf } from "./reply-item.ts";

/**
 * The work of a write, once its idempotency key is claimed.
 * @param replyId the stored response of the call; null where the call has no idempotency key
 */
export type Work<Open extends Unit, Reply> = (unit: Open, replyId: Buffer | null) => Promise<Reply>;

/**
 * Runs something in one transaction.
 * @param isClaimed whether the work finds out by a claim that it has happened; see `TransactionOptions`
 */
type Transaction<Open extends Unit> = <Result>(
  work: (unit: Open) => Promise<Result>,
  isClaimed: boolean,
) => Promise<Result>;

/** One write while it runs. */
interface Write<Open extends Unit, Reply> {
  readonly context: HandlerContext;
  readonly work: Work<Open, Reply>;
  /** Corrects the row of a limit that has refused the write, once the transaction has rolled back. */
  repair: Repair | undefined;
}

/**
 * The way that every write of the services takes. The record of its idempotency key and its limits belong to the
 * transaction of the write, and are handled here.
 */
export class Writes {
  readonly #board: Board;
  readonly #ledger: Ledger;
  readonly #limits: WriteLimits | undefined;

  constructor(board: Board, ledger: Ledger, limits: WriteLimits | undefined) {
    this.#board = board;
    this.#ledger = ledger;
    this.#limits = limits;
  }

  /** Runs a write of the board; `work` also makes the reply. If it throws, nothing of it has happened. */
  run<Reply extends Message>(context: HandlerContext, request: Message, work: Work<Unit, Reply>): Promise<Reply> {
    const transaction: Transaction<Unit> = (inner, isClaimed) =>
      this.#board.write(context.signal, inner, { isClaimed });
    return this.#run(transaction, { context, work, repair: undefined }, request);
  }

  /** Runs a write that seals, like `run`. Followers are notified after the commit. */
  seal<Reply extends Message>(context: HandlerContext, request: Message, work: Work<Sealing, Reply>): Promise<Reply> {
    const transaction: Transaction<Sealing> = (inner, isClaimed) =>
      this.#ledger.sealer.transaction(context.signal, inner, { isClaimed });
    return this.#run(transaction, { context, work, repair: undefined }, request);
  }

  async #run<Open extends Unit, Reply extends Message>(
    transaction: Transaction<Open>,
    write: Write<Open, Reply>,
    request: Message,
  ): Promise<Reply> {
    const { context } = write;
    const claim = readClaim(context, request);
    // A response is given to anybody who shows the key of an anonymous call, so a key is a guess at a secret.
    if (claim !== undefined && isAnonymous(context)) callOf(context.values).origin.limits.enforceCredentials();
    try {
      if (claim === undefined) return await this.#runWithoutKey(transaction, write);
      const { refusal } = this.#board;
      if (refusal !== undefined) return await this.#replay(context, claim, refusal);
      // The transaction may run again after a deadlock, so its findings leave it as its result alone.
      let hasPerformed = false;
      const { reply, replayed } = await transaction(async (unit) => {
        const made = await this.#performOnce(unit, write, claim);
        // If an attempt of this call finds the response of the one before, the client still has the first reply.
        const isRepeat = made.replayed && !hasPerformed;
        hasPerformed ||= !made.replayed;
        return { reply: made.reply, replayed: isRepeat };
      }, true);
      if (replayed) markReplayed(context);
      return reply;
    } catch (error) {
      const { repair } = write;
      if (repair !== undefined) await this.#board.write(context.signal, repair);
      throw error;
    }
  }

  /**
   * Runs a call that has no idempotency key. In a cluster a server may end while it commits. So the call then claims a random
   * key of its own, which tells on another server whether the call has happened. On a single server that would cost more than
   * it gives.
   */
  async #runWithoutKey<Open extends Unit, Reply extends Message>(
    transaction: Transaction<Open>,
    write: Write<Open, Reply>,
  ): Promise<Reply> {
    if (!this.#board.isCluster) return transaction((unit) => this.#perform(unit, write, null), false);
    const attempts = new AttemptClaims<Reply>();
    return transaction(async (unit) => {
      const earlier = await attempts.claim(unit);
      if (earlier !== undefined) return earlier;
      const reply = await this.#perform(unit, write, null);
      attempts.performed(reply);
      return reply;
    }, true);
  }

  /** Performs a call under an idempotency key the first time, and replays it after that. */
  async #performOnce<Open extends Unit, Reply extends Message>(
    unit: Open,
    write: Write<Open, Reply>,
    claim: Claim,
  ): Promise<{ reply: Reply; replayed: boolean }> {
    const { context } = write;
    const known = await claimKey(unit, claim);
    if (known !== undefined) return { reply: readReply(context.method, known), replayed: true };
    spendCredential(context);
    const reply = await this.#perform(unit, write, claim.id);
    await storeResponse(unit, claim, toBinary(context.method.output, reply), itemOf(reply));
    return { reply, replayed: false };
  }

  /**
   * Replays a call under an idempotency key while nothing may be written.
   * @throws `refusal` where the call has not been performed before
   */
  async #replay<Reply extends Message>(context: HandlerContext, claim: Claim, refusal: StoaError): Promise<Reply> {
    const known = await findStoredResponse(this.#board.readForWrite(context.signal), claim, this.#board.expiryNow());
    if (known === undefined) {
      spendCredential(context);
      throw refusal;
    }
    markReplayed(context);
    return readReply(context.method, known);
  }

  async #perform<Open extends Unit, Reply>(
    unit: Open,
    write: Write<Open, Reply>,
    replyId: Buffer | null,
  ): Promise<Reply> {
    const reply = await write.work(unit, replyId);
    await this.#spend(unit, write);
    return reply;
  }

  /** Spends from the limit of the write, after every other check and before the commit. A replay spends nothing. */
  async #spend<Open extends Unit>(unit: Open, write: Write<Open, unknown>): Promise<void> {
    const { context } = write;
    const name = rulesOf(context.method).limit;
    if (this.#limits === undefined || name === undefined || unit.unchanged) return;
    const { client, limits } = callOf(context.values).origin;
    const charged = isAnonymous(context) ? client.counted : callerOf(context);
    const { repair, ...verdict } = await this.#limits.charge(unit, name, charged);
    write.repair = repair;
    limits.enforce(verdict);
  }
}

function markReplayed({ responseHeader }: HandlerContext): void {
  responseHeader.set(replayedHeader, "true");
}

/**
 * Reads a stored response. The fingerprint of a call names its method, so the response is of that method's type.
 * @throws StoredDamage where the bytes are not such a response
 */
function readReply<Reply extends Message>({ output }: HandlerContext["method"], bytes: Uint8Array): Reply {
  let reply: Message & Record<string, unknown>;
  try {
    reply = fromBinary(output, bytes) as Message & Record<string, unknown>;
  } catch (error) {
    throw damagedResponse(error);
  }
  // Truncated bytes can still be decoded.
  const required = output.fields.filter(({ fieldKind, proto }) => fieldKind === "message" && !proto.proto3Optional);
  if (required.some(({ localName }) => reply[localName] === undefined)) throw damagedResponse();
  return reply as Message as Reply;
}

/** An unknown key of an anonymous call counts as a wrong secret. */
function spendCredential(context: HandlerContext): void {
  if (isAnonymous(context)) callOf(context.values).origin.limits.spendCredential();
}

function isAnonymous({ values }: HandlerContext): boolean {
  return callOf(values).caller === undefined;
}
