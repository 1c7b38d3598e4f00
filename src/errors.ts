/**
 * The closed set of error codes a caller can see, and the one error type that carries them.
 * Everything below the edge throws `StoaError`; each edge (REST, RPC) maps it exactly once.
 */

/** What each code means on the wire; the REST status is the seed's error table. */
export const errorStatus = {
  bad_input: 400,
  bad_json: 400,
  unauthorized: 401,
  own_content: 403,
  forbidden: 403,
  not_found: 404,
  name_taken: 409,
  exists: 409,
  too_large: 413,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

export interface ErrorDetails {
  /** The input at fault, named as in the contract (`title`, `evidence.source`). */
  field?: string | undefined;
  /** Seconds after which a retry makes sense. */
  retryAfterSeconds?: number | undefined;
  /** Of `unauthorized`: the scheme of the credentials, as WWW-Authenticate names it. By default it is Bearer. */
  challenge?: string | undefined;
  /** Of `not_found`: the methods that the address takes instead. */
  methods?: readonly string[] | undefined;
  cause?: unknown;
}

/** A failure with a stable code. The message is for people and never holds a secret. */
export class StoaError extends Error {
  override readonly name = "StoaError";
  readonly code: ErrorCode;
  readonly field: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly challenge: string | undefined;
  readonly methods: readonly string[] | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.field = details.field;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.challenge = details.challenge;
    this.methods = details.methods;
  }
}

/**
 * Stored data cannot be used: a row is lost, or its bytes were changed. Clients get `unavailable`, because the operator may
 * restore the data. The edge logs it.
 */
export class StoredDamage extends StoaError {
  constructor(message: string, cause?: unknown) {
    super("unavailable", message, { retryAfterSeconds: 60, cause });
  }
}

/** @param field the input at fault, named as in the contract; undefined if no single input is */
export function badInput(field: string | undefined, message: string): StoaError {
  return new StoaError("bad_input", message, { field });
}

/** The refusal of a caller who is known and may not do this. */
export function forbidden(message: string): StoaError {
  return new StoaError("forbidden", message);
}

/** @param field the input that named what was not found, if one did */
export function notFound(message: string, field?: string): StoaError {
  return new StoaError("not_found", message, { field });
}
