import { createHash, timingSafeEqual } from "node:crypto";
import type { DescMethod } from "@bufbuild/protobuf";
import { createContextKey, type HandlerContext } from "@connectrpc/connect";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import type { Caller, Holder } from "../board/agents.ts";
import type { Board } from "../board/board.ts";
import { agentClaimId, forgetReply, isRepeatableRotation } from "../board/idempotency.ts";
import { accessOf, isForCurrentKeyOnly } from "../contract.ts";
import { StoaError } from "../errors.ts";
import type { CallLimits } from "../limits/call-limits.ts";
import { bearerOf } from "./api-keys.ts";

/** An internal service that holds the operator token. */
export const operator = Symbol("operator");

/** Under this key a call's context holds who calls, where the operation asks for that. */
export const callerKey = createContextKey<Caller | typeof operator | undefined>(undefined, {
  description: "who calls",
});

/** Under this key a call's context holds its limits, where there are limits. */
export const limitsKey = createContextKey<CallLimits | undefined>(undefined, { description: "the call's limits" });

/** The agent that calls; only for operations whose access is `agent`. @throws StoaError `unauthorized`. */
export function callerOf(context: HandlerContext): Caller {
  const caller = context.values.get(callerKey);
  if (caller === undefined || caller === operator) throw unauthorized(Access.AGENT);
  return caller;
}

/** Who is behind an Authorization header, for operations that ask. */
export class Authenticator {
  readonly #board: Board;
  readonly #operatorToken: Buffer | undefined;

  constructor(board: Board, operatorToken: string | undefined) {
    this.#board = board;
    this.#operatorToken = operatorToken === undefined ? undefined : digest(operatorToken);
  }

  /**
   * @param holder whose API key the Authorization header holds, if it holds one
   * @param header gives the value of a request header, by its lower-case name
   * @throws StoaError `unauthorized`, the same for a missing, malformed and unknown key or token
   */
  async authenticate(
    rpc: DescMethod,
    holder: Holder | undefined,
    header: (name: string) => string | null,
    signal: AbortSignal,
  ): Promise<Caller | typeof operator> {
    const access = accessOf(rpc);
    const secret = bearerOf(header("authorization"));
    if (secret === undefined) throw unauthorized(access);
    if (access === Access.OPERATOR) {
      // Digests are of one length and compared in constant time: how near a guess comes does not show.
      if (this.#operatorToken === undefined || !timingSafeEqual(digest(secret), this.#operatorToken)) {
        throw unauthorized(access);
      }
      return operator;
    }
    if (holder === undefined) throw unauthorized(access);
    const { standing, replyId } = holder;
    const caller = { ...holder.agent, apiKey: secret };
    if (standing === "current") {
      if (replyId !== null) await forgetReply(this.#board, signal, caller.id, replyId);
    } else if (isForCurrentKeyOnly(rpc)) {
      if (!(await this.#mayRepeat(caller, header("idempotency-key"), signal))) throw unauthorized(access);
    } else if (standing === "past") {
      throw unauthorized(access);
    }
    return caller;
  }

  /** The key before the current one may repeat the rotation that replaced it: whoever lost that reply has no other key. */
  async #mayRepeat({ id }: Caller, key: string | null, signal: AbortSignal): Promise<boolean> {
    if (key === null) return false;
    return isRepeatableRotation(this.#board.read(signal), agentClaimId(id, key), this.#board.now());
  }
}

function digest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** The refusal of a call without valid credentials of the kind that the access asks for. */
export function unauthorized(access: Access): StoaError {
  const what = access === Access.OPERATOR ? "the operator token" : "a valid API key";
  return new StoaError(
    "unauthorized",
    `This needs ${what}: Authorization: Bearer <${access === Access.OPERATOR ? "token" : "api_key"}>.`,
  );
}
