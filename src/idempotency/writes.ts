import { randomBytes } from "node:crypto";
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Board, Queryable, Unit } from "../board/board.ts";
import type { Repair, WriteLimits } from "../board/write-limits.ts";
import { callerOf, callOf } from "../calls/call.ts";
import { replayedHeader } from "../calls/unary-call.ts";
import { rulesOf } from "../contract/rules.ts";
import type { StoaError } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Sealing } from "../ledger/sealing/append.ts";
import type { TransactionOptions } from "../store/database/database.ts";
import { readOutlinesBegin } from "../store/tables/idempotency-replies.ts";
import {
  type Claim,
  claimCall,
  claimKey,
  damagedResponse,
  findPerformed,
  type Performed,
  storeResponse,
  takeBackCall,
} from "./claims.ts";
import { readClaim } from "./idempotency-key.ts";
import { fillOutline, type Items, itemOf, toOutline } from "./item-replies.ts";

/**
 * The work of a write, once its idempotency key is claimed.
 * @param replyId the id of the row that will hold the response; null where the call has no idempotency key
 */
export type Work<Open extends Unit, Reply> = (unit: Open, replyId: Buffer | null) => Promise<Reply>;

/** What runs something in one transaction: the board, or the ledger's sealer. */
interface Transactions<Open extends Unit> {
  write<Result>(
    signal: AbortSignal,
    work: (unit: Open) => Promise<Result>,
    options: TransactionOptions,
  ): Promise<Result>;
}

/** One write while it runs. */
interface Write<Open extends Unit, Reply> {
  readonly context: HandlerContext;
  readonly request: Message;
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
  readonly #items: Items;
  /** As `readOutlinesBegin`, once it is read. */
  #outlinesBegin: number | undefined;

  constructor(board: Board, ledger: Ledger, limits: WriteLimits | undefined, items: Items) {
    this.#board = board;
    this.#ledger = ledger;
    this.#limits = limits;
    this.#items = items;
  }

  /** Runs a write of the board; `work` also makes the reply. If it throws, nothing of it has happened. */
  run<Reply extends Message>(context: HandlerContext, request: Message, work: Work<Unit, Reply>): Promise<Reply> {
    return this.#run(this.#board, { context, request, work, repair: undefined });
  }

  /** Runs a write that seals, like `run`. Followers are notified after the commit. */
  seal<Reply extends Message>(context: HandlerContext, request: Message, work: Work<Sealing, Reply>): Promise<Reply> {
    return this.#run(this.#ledger.sealer, { context, request, work, repair: undefined });
  }

  async #run<Open extends Unit, Reply extends Message>(
    transactions: Transactions<Open>,
    write: Write<Open, Reply>,
  ): Promise<Reply> {
    const { context, request } = write;
    const claim = readClaim(context, request);
    // Anybody who sends the key of an anonymous call gets its response. So sending a key is a guess at a secret.
    if (claim !== undefined && isAnonymous(context)) callOf(context.values).origin.limits.enforceCredentials();
    try {
      if (claim === undefined) {
        if (this.#board.isCluster) return await this.#runWithOwnKey(transactions, write);
        return await transactions.write(context.signal, (unit) => this.#perform(unit, write, null), {});
      }
      const { refusal } = this.#board;
      if (refusal !== undefined) return await this.#replayOnly(write, claim, refusal);
      const attempts = new Attempts<Reply>();
      // The transaction may run again after a deadlock, so it returns what it found instead of setting anything outside.
      const perform = (unit: Open) => this.#performOnce(unit, write, claim, attempts);
      const { reply, replayed } = await transactions.write(context.signal, perform, { isClaimed: true });
      if (replayed) markReplayed(context);
      return reply;
    } catch (error) {
      const { repair } = write;
      // If it fails, the next refusal tries again. This one stays what it is.
      if (repair !== undefined) await this.#board.write(context.signal, repair).catch(() => {});
      throw error;
    }
  }

  /**
   * Runs a call that has no idempotency key on a cluster, where a server may end during COMMIT. The call claims a random key
   * of its own, by which another server can tell whether the call took effect. On a single server this would cost more than
   * it is worth.
   */
  async #runWithOwnKey<Open extends Unit, Reply extends Message>(
    transactions: Transactions<Open>,
    write: Write<Open, Reply>,
  ): Promise<Reply> {
    const id = randomBytes(32);
    const attempts = new Attempts<Reply>();
    const performOnce = async (unit: Open) => {
      const attempt = attempts.begin();
      const committed = await claimCall(unit, id, attempt);
      if (committed !== undefined) {
        const made = attempts.replyOf(committed);
        if (made === undefined) throw damagedResponse();
        return made;
      }
      const reply = await this.#perform(unit, write, null);
      if (unit.unchanged) await takeBackCall(unit, id);
      return attempts.made(attempt, reply);
    };
    return transactions.write(write.context.signal, performOnce, { isClaimed: true });
  }

  /**
   * Performs a call under an idempotency key the first time, and replays it after that. If an attempt finds that an earlier
   * attempt of the same call has committed, the call counts as performed, not as replayed.
   */
  async #performOnce<Open extends Unit, Reply extends Message>(
    unit: Open,
    write: Write<Open, Reply>,
    claim: Claim,
    attempts: Attempts<Reply>,
  ): Promise<{ reply: Reply; replayed: boolean }> {
    const { context } = write;
    const attempt = attempts.begin();
    const known = await claimKey(unit, claim, attempt);
    if (known !== undefined) {
      const made = attempts.replyOf(known.attempt);
      if (made !== undefined) return { reply: made, replayed: false };
      return { reply: await this.#replay(unit.tx, write, known), replayed: true };
    }
    spendCredential(context);
    const reply = await this.#perform(unit, write, claim.id);
    const about = itemOf(reply);
    this.#outlinesBegin ??= await readOutlinesBegin(unit.tx);
    const isOutline = about !== undefined && unit.now >= this.#outlinesBegin;
    const bytes = toBinary(context.method.output, isOutline ? toOutline(reply) : reply);
    await storeResponse(unit, claim, bytes, isOutline, isOutline ? undefined : about);
    return { reply: attempts.made(attempt, reply), replayed: false };
  }

  /**
   * Replays a call under an idempotency key while nothing may be written.
   * @throws `refusal` where the call has not been performed before
   */
  async #replayOnly<Reply extends Message>(
    write: Write<never, Reply>,
    claim: Claim,
    refusal: StoaError,
  ): Promise<Reply> {
    const { context } = write;
    const db = this.#board.readForWrite(context.signal);
    const known = await findPerformed(db, claim, this.#board.expiryNow());
    if (known === undefined) {
      spendCredential(context);
      throw refusal;
    }
    markReplayed(context);
    return this.#replay(db, write, known);
  }

  /** The reply of a call that was performed before, as its repeat gets it. */
  async #replay<Reply extends Message>(
    db: Queryable,
    { context: { method }, request }: Pick<Write<never, Reply>, "context" | "request">,
    { reply: stored, item, item_id }: Performed,
  ): Promise<Reply> {
    if (stored === null) {
      if (item === null || item_id === null) throw damagedResponse();
      return create(method.output, { [item]: await this.#items[item](db, item_id) }) as Message as Reply;
    }
    const reply = readReply<Reply>(method, stored);
    if (itemOf(reply) !== undefined) await fillOutline(db, reply, request, this.#items);
    return reply;
  }

  /** Does the work, and spends from its limit after every other check and before the commit. A replay spends nothing. */
  async #perform<Open extends Unit, Reply>(
    unit: Open,
    write: Write<Open, Reply>,
    replyId: Buffer | null,
  ): Promise<Reply> {
    const { context } = write;
    const reply = await write.work(unit, replyId);
    // A write that changes nothing is free, unless its reply is stored.
    const isFree = unit.unchanged === true && replyId === null;
    const name = rulesOf(context.method).limit;
    if (isFree || this.#limits === undefined || name === undefined) return reply;
    const { client, limits } = callOf(context.values).origin;
    const charged = isAnonymous(context) ? client.counted : callerOf(context);
    const { repair, ...verdict } = await this.#limits.charge(unit, name, charged);
    write.repair = repair;
    limits.enforce(verdict);
    return reply;
  }
}

/** The attempts of one call, and what they have made. An attempt that has made a reply may have rolled back. */
class Attempts<Reply> {
  readonly #made = new Map<string, Reply>();

  /** @returns a random name */
  begin(): Buffer {
    return randomBytes(16);
  }

  made(attempt: Buffer, reply: Reply): Reply {
    this.#made.set(attempt.toString("hex"), reply);
    return reply;
  }

  /** What the attempt has made, if it is one of this call. */
  replyOf(attempt: Buffer | null): Reply | undefined {
    return attempt === null ? undefined : this.#made.get(attempt.toString("hex"));
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
