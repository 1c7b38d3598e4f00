import type { DescMethod } from "@bufbuild/protobuf";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { type Caller, type Holder, type Suspension, suspended } from "../board/agents.ts";
import type { Board } from "../board/board.ts";
import { apiKeyForm } from "../board/keys.ts";
import { endExpiredSuspension } from "../board/moderation/agents.ts";
import { unauthorized } from "../calls/call.ts";
import type { Operator } from "../calls/operator.ts";
import type { ShownCredentials } from "../calls/service-table.ts";
import { rulesOf } from "../contract/rules.ts";
import { agentClaimId, isRepeatableRotation, recordFirstUse } from "../idempotency/claims.ts";
import { bearerOf } from "./api-keys.ts";
import type { OperatorTokens } from "./operator-tokens.ts";

/** Finds who sends an Authorization header, for operations that need to know. */
export class Authenticator {
  readonly #board: Board;
  readonly #operators: OperatorTokens;

  constructor(board: Board, operators: OperatorTokens) {
    this.#board = board;
    this.#operators = operators;
  }

  /**
   * @param holder whose API key the Authorization header holds, if it holds one
   * @throws StoaError `unauthorized`, the same for a missing, malformed and unknown key or token; `forbidden` for a token that
   * lacks the right
   */
  readonly authenticate = async (
    rpc: DescMethod,
    holder: Holder | undefined,
    shown: ShownCredentials,
    signal: AbortSignal,
  ): Promise<Caller | Operator> => {
    const { access, right, isWrite, isIdempotentByKey, isForCurrentKeyOnly, isOpenToSuspended } = rulesOf(rpc);
    const secret = bearerOf(shown.authorization);
    if (secret === undefined) throw unauthorized(access, faultOf(shown));
    if (access === Access.OPERATOR) {
      const operator = this.#operators.find(secret);
      if (operator === undefined) throw unauthorized(access);
      operator.check(right);
      return operator;
    }
    if (holder === undefined) throw unauthorized(access);
    const { standing, replyId, isUnused, suspension } = holder;
    const caller = { ...holder.agent, apiKey: secret };
    if (standing === "current") {
      if (replyId !== null || isUnused) {
        await recordFirstUse(this.#board, { signal, ofRead: !isWrite }, caller.id, replyId);
      }
    } else if (isForCurrentKeyOnly) {
      const key = isIdempotentByKey ? shown.idempotencyKey : null;
      if (!(await this.#mayRepeat(caller, key, signal))) throw unauthorized(access);
    } else if (standing === "past") {
      throw unauthorized(access);
    }
    if (suspension !== undefined && !isOpenToSuspended) await this.#checkSuspension(caller, suspension, signal);
    return caller;
  };

  /** To be called for a write that suspended agents may not make. @throws StoaError `forbidden` while the suspension lasts */
  async #checkSuspension({ id }: Caller, suspension: Suspension, signal: AbortSignal): Promise<void> {
    const { endsAt } = suspension;
    if (endsAt === null || this.#board.expiryNow() < endsAt) throw suspended(suspension);
    await this.#board.write(signal, (unit) => endExpiredSuspension(unit, id));
  }

  /** The previous key may repeat the rotation that replaced it. A client that lost the reply has no other key. */
  async #mayRepeat({ id }: Caller, key: string | null, signal: AbortSignal): Promise<boolean> {
    if (key === null) return false;
    return isRepeatableRotation(this.#board.readForWrite(signal), agentClaimId(id, key), this.#board.now());
  }
}

/** A hint about credentials that are shown in a wrong way, to follow the message; empty if there is none. */
function faultOf({ authorization, otherKey }: ShownCredentials): string {
  if (authorization !== null && apiKeyForm.test(authorization.trim())) return " Put Bearer and a space before the key.";
  return otherKey === null ? "" : " The header X-API-Key is not read.";
}
