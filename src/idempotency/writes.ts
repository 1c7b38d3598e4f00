import { fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Board, Unit } from "../board/board.ts";
import type { WriteLimits } from "../board/write-limits.ts";
import { callerKey, callerOf, limitsKey } from "../calls/context.ts";
import { limitOf } from "../contract/rules.ts";
import type { StoaError } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Sealing } from "../ledger/sealing/append.ts";
import { type Claim, claimReply, damagedReply, findRepeat, keepReply } from "./claims.ts";
import { readClaim } from "./idempotency-key.ts";

/**
 * What a write does, once its idempotency key is claimed. @param replyId the kept reply of the call, where there is one
 */
export type Work<Open extends Unit, Reply> = (unit: Open, replyId: Buffer | null) => Promise<Reply>;

/** Runs something in one transaction. */
type Transaction<Open extends Unit> = <Result>(work: (unit: Open) => Promise<Result>) => Promise<Result>;

/**
 * The way that every write of the services takes. What belongs to a write beside its own work (the record of its
 * idempotency key, its limits) happens here, in the transaction of the write.
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

  /** Runs a write of the board; `work` also makes the reply. When it throws, nothing of it has happened. */
  run<Reply extends Message>(context: HandlerContext, request: Message, work: Work<Unit, Reply>): Promise<Reply> {
    return this.#run((inner) => this.#board.write(context.signal, inner), context, request, work);
  }

  /** Runs a write that seals; as `run`, and its followers hear of it once it is committed. */
  seal<Reply extends Message>(context: HandlerContext, request: Message, work: Work<Sealing, Reply>): Promise<Reply> {
    return this.#run((inner) => this.#ledger.sealer.transaction(context.signal, inner), context, request, work);
  }

  async #run<Open extends Unit, Reply extends Message>(
    transaction: Transaction<Open>,
    context: HandlerContext,
    request: Message,
    work: Work<Open, Reply>,
  ): Promise<Reply> {
    const claim = readClaim(context, request);
    const call = context.values.get(limitsKey);
    // Where nobody is known to call, the key is all that a reply is given out for: a guess at it is one at a secret.
    if (claim !== undefined && isAnonymous(context)) call?.beforeSecret();
    try {
      if (claim === undefined) return await transaction((unit) => this.#perform(unit, context, work, null));
      const { refusal } = this.#board;
      if (refusal !== undefined) return await this.#replay(context, claim, refusal);
      // Where the transaction loses a deadlock it is run anew: what it finds out leaves it as its result alone.
      const { reply, replayed } = await transaction((unit) => this.#performOnce(unit, context, claim, work));
      if (replayed) markReplayed(context);
      return reply;
    } catch (error) {
      await call?.afterRefusal?.();
      throw error;
    }
  }

  /** A call under an idempotency key: performed the first time, and replayed after that. */
  async #performOnce<Open extends Unit, Reply extends Message>(
    unit: Open,
    context: HandlerContext,
    claim: Claim,
    work: Work<Open, Reply>,
  ): Promise<{ reply: Reply; replayed: boolean }> {
    const { method } = context;
    const known = await claimReply(unit, claim);
    if (known !== undefined) return { reply: readReply(method, known), replayed: true };
    if (isAnonymous(context)) context.values.get(limitsKey)?.wrongSecret();
    const reply = await this.#perform(unit, context, work, claim.id);
    await keepReply(unit, claim, toBinary(method.output, reply));
    return { reply, replayed: false };
  }

  /**
   * A call under an idempotency key while nothing may be written: replayed where it was performed before.
   * @throws `refusal` where it was not
   */
  async #replay<Reply extends Message>(context: HandlerContext, claim: Claim, refusal: StoaError): Promise<Reply> {
    const known = await findRepeat(this.#board.read(context.signal), claim, this.#board.expiryNow());
    if (known === undefined) {
      if (isAnonymous(context)) context.values.get(limitsKey)?.wrongSecret();
      throw refusal;
    }
    markReplayed(context);
    return readReply(context.method, known);
  }

  async #perform<Open extends Unit, Reply>(
    unit: Open,
    context: HandlerContext,
    work: Work<Open, Reply>,
    replyId: Buffer | null,
  ): Promise<Reply> {
    const reply = await work(unit, replyId);
    await this.#charge(unit, context);
    return reply;
  }

  /** A write spends from its limit after every other check, and before the commit. A replay does not come here. */
  async #charge(unit: Unit, context: HandlerContext): Promise<void> {
    const name = limitOf(context.method);
    const call = context.values.get(limitsKey);
    if (this.#limits === undefined || name === undefined || call === undefined || unit.unchanged) return;
    const subject = isAnonymous(context) ? call.address : callerOf(context).id;
    const { policy, judgement, repair } = await this.#limits.charge(unit, name, subject);
    call.afterRefusal = repair && (() => this.#board.write(context.signal, repair));
    call.take(policy, judgement);
  }
}

function markReplayed({ responseHeader }: HandlerContext): void {
  responseHeader.set("Idempotency-Replayed", "true");
}

/**
 * The fingerprint of a call names its method: the reply that is kept with it is of that method's kind.
 * @throws StoredDamage where its bytes are not such a reply
 */
function readReply<Reply extends Message>({ output }: HandlerContext["method"], bytes: Uint8Array): Reply {
  let reply: Message & Record<string, unknown>;
  try {
    reply = fromBinary(output, bytes) as Message & Record<string, unknown>;
  } catch (error) {
    throw damagedReply(error);
  }
  // Bytes that end early can still be read.
  const required = output.fields.filter(({ fieldKind, proto }) => fieldKind === "message" && !proto.proto3Optional);
  if (required.some(({ localName }) => reply[localName] === undefined)) throw damagedReply();
  return reply as Message as Reply;
}

function isAnonymous({ values }: HandlerContext): boolean {
  return values.get(callerKey) === undefined;
}
