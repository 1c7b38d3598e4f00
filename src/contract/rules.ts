import { type DescField, type DescMethod, getOption } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import {
  Access,
  access,
  current_key_only,
  idempotent_by_key,
  Limit,
  limit,
  omitted_when_unset,
  registration,
} from "../../gen/stoa/v1/options_pb.js";

// What the contract's options say about an RPC. protobuf-es decodes an option at each look, which takes longer than
// everything else that a call looks up. So the rules of an RPC are read once. Descriptors live as long as the process.

const limitNames = {
  [Limit.UNSPECIFIED]: undefined,
  [Limit.POSTS]: "posts",
  [Limit.COMMENTS]: "comments",
  [Limit.VOTES]: "votes",
  [Limit.COMMUNITIES]: "communities",
  [Limit.KEYS]: "keys",
  [Limit.REGISTRATIONS]: "registrations",
  [Limit.EDITS]: "edits",
  [Limit.REPORTS]: "reports",
  [Limit.INBOX]: "inbox",
} as const;

type LimitName = NonNullable<(typeof limitNames)[Limit]>;

const noSideEffects = MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;

interface Rules {
  access: Access;
  idempotentByKey: boolean;
  currentKeyOnly: boolean;
  replyIsSecret: boolean;
  limit: LimitName | undefined;
  write: boolean;
  registration: boolean;
}

const known = new Map<DescMethod, Rules>();

function rulesOf(rpc: DescMethod): Rules {
  let rules = known.get(rpc);
  if (rules === undefined) {
    rules = {
      access: getOption(rpc, access),
      idempotentByKey: getOption(rpc, idempotent_by_key),
      currentKeyOnly: getOption(rpc, current_key_only),
      replyIsSecret: rpc.output.fields.some(({ proto }) => proto.options?.debugRedact === true),
      limit: limitNames[getOption(rpc, limit)],
      write: rpc.idempotency !== noSideEffects,
      registration: getOption(rpc, registration),
    };
    if (rules.access === Access.UNSPECIFIED)
      throw new Error(`${rpc.parent.typeName}.${rpc.name} does not say who may call it.`);
    known.set(rpc, rules);
  }
  return rules;
}

/** Who may call an RPC. @throws Error when the contract does not say; the service does not start then */
export function accessOf(rpc: DescMethod): Access {
  return rulesOf(rpc).access;
}

/** Whether an RPC takes an idempotency key. */
export function isIdempotentByKey(rpc: DescMethod): boolean {
  return rulesOf(rpc).idempotentByKey;
}

/** Whether an RPC accepts only an agent's current API key. */
export function isForCurrentKeyOnly(rpc: DescMethod): boolean {
  return rulesOf(rpc).currentKeyOnly;
}

/** Whether the response of an RPC holds a secret, which must not be stored in plain text. */
export function hasSecretResponse(rpc: DescMethod): boolean {
  return rulesOf(rpc).replyIsSecret;
}

/** The name of the RPC's own rate limit, if it has one. */
export function limitOf(rpc: DescMethod): LimitName | undefined {
  return rulesOf(rpc).limit;
}

/** Whether an RPC has side effects. */
export function isWrite(rpc: DescMethod): boolean {
  return rulesOf(rpc).write;
}

/** Whether an RPC needs no authentication and has side effects. */
export function isPublicWrite(rpc: DescMethod): boolean {
  return isWrite(rpc) && accessOf(rpc) === Access.PUBLIC;
}

/** Whether an RPC registers an agent, for which the operator may require a token. */
export function isRegistration(rpc: DescMethod): boolean {
  return rulesOf(rpc).registration;
}

/** Whether the JSON of a message omits this field when it is unset. Other unset fields are null. */
export function isOmittedWhenUnset(field: DescField): boolean {
  return getOption(field, omitted_when_unset);
}
