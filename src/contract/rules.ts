import type { DescField, DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import {
  Access,
  access,
  current_key_only,
  idempotent_by_key,
  Limit,
  limit,
  needs_agent,
  omitted_when_unset,
  open_to_suspended,
  Right,
  registration,
  right,
} from "../../gen/stoa/v1/options_pb.js";
import { getOption } from "./options.ts";

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

/** What the contract says about an RPC. */
export interface RpcRules {
  /** Who may call it. */
  readonly access: Access;
  /** What an operator's token must allow; `UNSPECIFIED` where operators do not call. */
  readonly right: Right;
  /** Whether it takes an idempotency key. */
  readonly isIdempotentByKey: boolean;
  /** Whether it accepts only an agent's current API key. */
  readonly isForCurrentKeyOnly: boolean;
  /** Whether an agent that is suspended may call it: what only reads, and a few writes. */
  readonly isOpenToSuspended: boolean;
  /** Whether its response holds a secret, which must not be stored in plain text. */
  readonly hasSecretResponse: boolean;
  /** The name of its own rate limit, if it has one. */
  readonly limit: LimitName | undefined;
  /** Whether it has side effects. */
  readonly isWrite: boolean;
  /** Whether it has side effects and needs no credentials. */
  readonly isPublicWrite: boolean;
  /** Whether it registers an agent, for which the operator may require a token. */
  readonly isRegistration: boolean;
}

const known = new Map<DescMethod, RpcRules>();

/** @throws Error where the contract does not say who may call; the service does not start then */
export function rulesOf(rpc: DescMethod): RpcRules {
  let rules = known.get(rpc);
  if (rules === undefined) {
    rules = readRules(rpc);
    known.set(rpc, rules);
  }
  return rules;
}

function readRules(rpc: DescMethod): RpcRules {
  const mayCall = getOption(rpc, access);
  if (mayCall === Access.UNSPECIFIED) {
    throw new Error(`${rpc.parent.typeName}.${rpc.name} does not say who may call it.`);
  }
  const needed = getOption(rpc, right);
  if ((needed === Right.UNSPECIFIED) === (mayCall === Access.OPERATOR)) {
    throw new Error(`${rpc.parent.typeName}.${rpc.name} must name a right exactly if it is for operators.`);
  }
  const isWrite = rpc.idempotency !== noSideEffects;
  return {
    access: mayCall,
    right: needed,
    isIdempotentByKey: getOption(rpc, idempotent_by_key),
    isForCurrentKeyOnly: getOption(rpc, current_key_only),
    isOpenToSuspended: !isWrite || getOption(rpc, open_to_suspended),
    hasSecretResponse: rpc.output.fields.some(({ proto }) => proto.options?.debugRedact === true),
    limit: limitNames[getOption(rpc, limit)],
    isWrite,
    isPublicWrite: isWrite && mayCall === Access.PUBLIC,
    isRegistration: getOption(rpc, registration),
  };
}

/** Whether the JSON of a message omits this field when it is unset. Other unset fields are null. */
export function isOmittedWhenUnset(field: DescField): boolean {
  return getOption(field, omitted_when_unset);
}

/** Whether a call that sets this field of its request needs an API key, although its operation is public. */
export function needsAgent(field: DescField): boolean {
  return getOption(field, needs_agent);
}
