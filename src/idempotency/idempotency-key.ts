import type { Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Caller } from "../board/agents.ts";
import { callOf } from "../calls/call.ts";
import { Operator } from "../calls/operator.ts";
import { rulesOf } from "../contract/rules.ts";
import { badInput } from "../errors.ts";
import { agentClaimId, type Claim, claimId, keyHeader } from "./claims.ts";
import { fingerprintOf } from "./fingerprint.ts";

/** Visible ASCII only. A header that is sent twice is joined with a comma and a space, and refused for the space. */
const form = /^[\x21-\x7e]{16,128}$/;
/** Without an owner the key itself has to be hard to guess. */
const ownerlessLength = 32;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The claim of a call with an idempotency key; undefined for a call without one, and for operations that take none.
 * @throws StoaError `bad_input`, field `Idempotency-Key`
 */
export function readClaim(context: HandlerContext, request: Message): Claim | undefined {
  const { method } = context;
  if (!rulesOf(method).isIdempotentByKey) return undefined;
  const { caller, idempotencyKey: key } = callOf(context.values);
  if (key === null) return undefined;
  if (!form.test(key)) {
    throw badInput(keyHeader, "Idempotency-Key must be 16 to 128 visible ASCII characters, and come once.");
  }
  if (caller === undefined) checkUnguessable(key);
  const apiKey = caller instanceof Operator ? undefined : caller?.apiKey;
  return {
    id: idOf(caller, key),
    fingerprint: fingerprintOf(method, request),
    secret: rulesOf(method).hasSecretResponse ? { idempotencyKey: key, apiKey } : undefined,
  };
}

/** A key belongs to the agent or the operator that calls. A key of an anonymous call belongs to anybody who knows it. */
function idOf(caller: Caller | Operator | undefined, key: string): Buffer {
  if (caller === undefined) return claimId("anybody", key);
  if (!(caller instanceof Operator)) return agentClaimId(caller.id, key);
  return claimId(caller.actor === undefined ? "operator" : `operator ${caller.actor.agent}`, key);
}

function checkUnguessable(key: string): void {
  if (key.length < ownerlessLength) {
    throw badInput(keyHeader, "Here the Idempotency-Key guards an API key: a random UUID, or at least 32 characters.");
  }
  const version = uuid.exec(key)?.[1];
  if (version !== undefined && version !== "4") {
    throw badInput(keyHeader, "Here the Idempotency-Key guards an API key: a UUID must be a random one (version 4).");
  }
}
