/** The codes with which a Stoa refuses or fails, as the contract has them. */
export const serviceCodes = [
  "bad_input",
  "bad_json",
  "unauthorized",
  "own_content",
  "forbidden",
  "not_found",
  "name_taken",
  "exists",
  "too_large",
  "rate_limited",
  "internal",
  "unavailable",
] as const;

/** The codes of errors that this client finds itself. */
const ownCodes = [
  /** There was no answer, or it was cut off. Another try may succeed. */
  "unreachable",
  /** Nothing came in time. To one who follows a stream it may mean that nothing has happened. Another try may succeed. */
  "silent",
  /** The answer is not a Stoa's, or not one that this version knows. */
  "unusable",
] as const;

/** Why a call failed; the set is closed. */
export type StoaErrorCode = (typeof serviceCodes)[number] | (typeof ownCodes)[number];

/** The codes in coarse groups. Only `refused` is an answer to the request itself. */
export type StoaErrorKind = "unreachable" | "silent" | "unavailable" | "refused" | "unusable";

/** A call failed. The message is one line for people, without control characters. */
export class StoaError extends Error {
  override readonly name = "StoaError";
  readonly code: StoaErrorCode;
  /** The input that the service rejected, named as in the contract. */
  readonly field: string | undefined;
  /** How long the service asks to wait before another try, in seconds. */
  readonly retryAfterSeconds: number | undefined;
  /** The HTTP status of an answer that is not a Stoa's. */
  readonly status: number | undefined;

  constructor(
    code: StoaErrorCode,
    message: string,
    details: {
      field?: string | undefined;
      retryAfterSeconds?: number | undefined;
      status?: number | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.field = details.field;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.status = details.status;
  }

  get kind(): StoaErrorKind {
    switch (this.code) {
      case "unreachable":
      case "silent":
      case "unusable":
        return this.code;
      case "unavailable":
      case "rate_limited":
        return "unavailable";
      default:
        return "refused";
    }
  }

  /** Whether there is nothing at the address, whoever says so. */
  get isNotFound(): boolean {
    return this.code === "not_found" || this.status === 404;
  }

  /** Whether the same call may succeed later. */
  get mayPass(): boolean {
    return this.kind === "unreachable" || this.kind === "silent" || this.kind === "unavailable";
  }
}

export type JsonObject = { [name: string]: unknown };

/** Whether a JSON value is an object, and neither an array nor null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads the Error shape, in which a Stoa reports an error; undefined for any other value. */
export function readErrorShape(value: unknown): StoaError | undefined {
  if (!isObject(value) || value.ok !== false || typeof value.error !== "string") return undefined;
  const { error, message, field, retry_after_seconds: seconds } = value;
  return saidBy({
    error,
    message: typeof message === "string" ? message : undefined,
    field: typeof field === "string" ? field : undefined,
    retryAfterSeconds: typeof seconds === "number" ? seconds : undefined,
  });
}

/** Makes the error that a service has sent, over any protocol. */
export function saidBy(said: {
  error: string;
  message: string | undefined;
  field: string | undefined;
  retryAfterSeconds: number | undefined;
}): StoaError {
  const { error, message, field, retryAfterSeconds: seconds } = said;
  const known = serviceCodes.find((code) => code === error);
  const words = printable(message === undefined || message === "" ? error : `${error}: ${message}`);
  return new StoaError(known ?? "unusable", `the service says ${words}`, {
    field: field === undefined ? undefined : printable(field),
    retryAfterSeconds: seconds !== undefined && seconds > 0 ? seconds : undefined,
  });
}

/** Makes foreign text safe for a terminal and a log line: it may have escape sequences, or be very long. */
export function printable(text: string): string {
  const maxLength = 200;
  const plain = text.slice(0, maxLength).replace(/[^\x20-\x7e]/g, "?");
  return text.length > maxLength ? `${plain}...` : plain;
}

/** The error of a failed connection. fetch reports only "fetch failed"; the reason is in the chain of causes. */
export function unreachable(error: unknown): StoaError {
  let reason = String(error);
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown };
    reason = typeof code === "string" ? code : at.message || reason;
  }
  return new StoaError("unreachable", `the connection failed: ${reason}`, { cause: error });
}
