import { createHash, timingSafeEqual } from "node:crypto";
import type { DescMethod } from "@bufbuild/protobuf";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import type { Caller, Holder } from "../board/agents.ts";
import type { Board } from "../board/board.ts";
import { unauthorized } from "../calls/callers.ts";
import { operator } from "../calls/context.ts";
import { accessOf, isForCurrentKeyOnly, isWrite } from "../contract/rules.ts";
import { agentClaimId, eraseKeyResponse, isRepeatableRotation } from "../idempotency/claims.ts";
import { bearerOf } from "./api-keys.ts";

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
      const ofRead = !isWrite(rpc);
      if (replyId !== null) await eraseKeyResponse(this.#board, { signal, ofRead }, caller.id, replyId);
    } else if (isForCurrentKeyOnly(rpc)) {
      if (!(await this.#mayRepeat(caller, header("idempotency-key"), signal))) throw unauthorized(access);
    } else if (standing === "past") {
      throw unauthorized(access);
    }
    return caller;
  }

  /** The previous key may repeat the rotation that replaced it. A client that lost the reply has no other key. */
  async #mayRepeat({ id }: Caller, key: string | null, signal: AbortSignal): Promise<boolean> {
    if (key === null) return false;
    return isRepeatableRotation(this.#board.readForWrite(signal), agentClaimId(id, key), this.#board.now());
  }
}

function digest(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}
