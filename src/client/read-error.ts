/** Why a service could not be read; none of these says that its chain is good or bad. */
export type ReadErrorKind =
  /** No answer, or one that was cut off. Another try may do. */
  | "unreachable"
  /** Nothing came for a long time; where receipts are followed there may have been none. Another try may do. */
  | "silent"
  /** The service, or a proxy before it, says that it cannot serve now. Another try may do. */
  | "unavailable"
  /** The service refused, or failed, in the Error shape; `code` says with what. */
  | "refused"
  /** What came is not what a Stoa says. */
  | "unusable";

/** A service could not be read. The message is for people, and holds nothing that would upset a terminal. */
export class ReadError extends Error {
  override readonly name = "ReadError";
  readonly kind: ReadErrorKind;
  /** The `error` of the Error shape, where there was one. */
  readonly code: string | undefined;
  /** The input that the service found at fault. */
  readonly field: string | undefined;
  /** How long the service asks to wait, in milliseconds. */
  readonly retryAfterMs: number;

  constructor(
    kind: ReadErrorKind,
    message: string,
    details: { code?: string; field?: string | undefined; retryAfterMs?: number } = {},
  ) {
    super(message);
    this.kind = kind;
    this.code = details.code;
    this.field = details.field;
    this.retryAfterMs = details.retryAfterMs ?? 0;
  }

  get mayPass(): boolean {
    return this.kind === "unreachable" || this.kind === "silent" || this.kind === "unavailable";
  }
}

export type JsonObject = { [name: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** No service may make us wait for longer than this, in milliseconds. */
const longestWaitMs = 300_000;

/** Reads the Error shape, in which a Stoa says why it refuses or fails; undefined for anything else. */
export function readErrorShape(value: unknown): ReadError | undefined {
  if (!isObject(value) || value.ok !== false || typeof value.error !== "string") return undefined;
  const { error: code, message, field, retry_after_seconds: seconds } = value;
  const kind = code === "unavailable" || code === "rate_limited" ? "unavailable" : "refused";
  const wait = typeof seconds === "number" && seconds > 0 ? Math.min(seconds * 1000, longestWaitMs) : 0;
  const said = typeof message === "string" ? `${code}: ${message}` : code;
  return new ReadError(kind, `the service says ${printable(said)}`, {
    code,
    field: typeof field === "string" ? field : undefined,
    retryAfterMs: wait,
  });
}

/** Foreign text, fit for a terminal and a log line: a service could send escape sequences, or very much. */
export function printable(text: string): string {
  const most = 200;
  const plain = text.slice(0, most).replace(/[^\x20-\x7e]/g, "?");
  return text.length > most ? `${plain}...` : plain;
}
