import { parseJson } from "../receipt/parse.ts";
import { isObject, type JsonObject, readErrorShape, StoaError, unreachable } from "./error.ts";

/** How long the head of a reply may take, in milliseconds. */
const headMs = 30_000;
/** How long a reply may be silent by default, in milliseconds. */
export const defaultSilenceMs = 240_000;
/** How long a reply that is read as a whole may take by default, in milliseconds. */
const wholeMs = 60_000;
/** The most bytes of a reply that is read as a whole. */
const maxBytes = 16 * 1024 * 1024;

/**
 * The root address of a service in its normal form, without a slash at the end.
 * @throws TypeError when the text is not such an address
 */
export function rootAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError("it is not an http or https address");
  if (url.username !== "" || url.password !== "") throw new TypeError("it holds a user name or a password");
  if (url.search !== "" || url.hash !== "") throw new TypeError("it has a query or a fragment");
  return url.href.replace(/\/+$/, "");
}

/**
 * Requests an address, and returns the body of the reply when its head has arrived with status 200.
 * @param silenceMs how long may pass without a byte, and until a reply with another status is complete, in milliseconds
 * @throws StoaError; the signal's reason when it aborts. Reading the body throws the same
 */
export async function open(
  address: string,
  signal: AbortSignal | undefined,
  silenceMs = defaultSilenceMs,
): Promise<AsyncGenerator<Uint8Array, void>> {
  const clock = new SilenceClock(signal);
  // A proxy that compresses would delay the lines of a stream.
  const headers = { "accept-encoding": "identity" };
  // A cached reply, also in a browser, is not what the service says now.
  const init: RequestInit = { signal: clock.signal, headers, cache: "no-store" };
  const response = await clock.within(headMs, fetch(address, init));
  const body = readBody(response, clock, silenceMs);
  if (response.status === 200) return body;
  throw readRefusal(response.status, await clock.within(silenceMs, readWhole(body), incomplete));
}

function readBody(response: Response, clock: SilenceClock, silenceMs: number): AsyncGenerator<Uint8Array, void> {
  return chunksOf(response.body, (step) => clock.within(silenceMs, step));
}

/**
 * The bytes of a reply as they arrive. A consumer that stops reading ends the request.
 * @param within wraps each step of reading
 */
export async function* chunksOf(
  body: ReadableStream<Uint8Array> | null,
  within: <T>(step: Promise<T>) => Promise<T> = (step) => step,
): AsyncGenerator<Uint8Array, void> {
  const chunks = body?.getReader();
  if (chunks === undefined) return;
  try {
    for (;;) {
      const next = await within(chunks.read());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    // This fails if the request has failed.
    await chunks.cancel().catch(() => undefined);
  }
}

/** What a clock reports of a reply that is read as a whole. */
const incomplete = "the answer was not complete after";

/** Ends a request when nothing arrives for too long. Time counts only while somebody waits for the next bytes. */
class SilenceClock {
  readonly signal: AbortSignal;
  readonly #late = new AbortController();

  constructor(given: AbortSignal | undefined) {
    this.signal = given === undefined ? this.#late.signal : AbortSignal.any([given, this.#late.signal]);
  }

  /** Waits for a step of the request. @throws StoaError; the given signal's reason when that aborts */
  async within<T>(ms: number, step: Promise<T>, silence = "nothing came for"): Promise<T> {
    const timer = setTimeout(() => this.#late.abort(new StoaError("silent", `${silence} ${ms / 1000} s`)), ms);
    try {
      return await step;
    } catch (error) {
      if (this.signal.aborted) throw this.signal.reason;
      throw error instanceof StoaError ? error : unreachable(error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Reads a reply of up to 16 MiB.
 * @param withinMs how long it may take as a whole, in milliseconds
 * @throws StoaError; the signal's reason when it aborts
 */
export function getBytes(
  address: string,
  signal: AbortSignal | undefined,
  withinMs = wholeMs,
): Promise<Uint8Array<ArrayBuffer>> {
  return get(address, signal, withinMs, readWhole);
}

/**
 * Reads a short reply.
 * @param maxBytes the most bytes that it may have. Of a longer one, it returns one byte more than that
 * @param withinMs how long it may take as a whole, in milliseconds
 * @throws StoaError; the signal's reason when it aborts
 */
export function getShort(
  address: string,
  maxBytes: number,
  signal: AbortSignal | undefined,
  withinMs = wholeMs,
): Promise<Uint8Array<ArrayBuffer>> {
  return get(address, signal, withinMs, (body) => readUpTo(body, maxBytes + 1));
}

function get<T>(
  address: string,
  signal: AbortSignal | undefined,
  withinMs: number,
  read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<T> {
  const clock = new SilenceClock(signal);
  return clock.within(withinMs, open(address, clock.signal, headMs).then(read), incomplete);
}

/** Reads a reply that is a JSON object. @throws StoaError; the signal's reason when it aborts */
export async function getObject(address: string, signal: AbortSignal | undefined): Promise<JsonObject> {
  const value = readJson(await getBytes(address, signal));
  if (!isObject(value)) throw new StoaError("unusable", "the answer is not a JSON object");
  return value;
}

/** Reads a body to its end. @throws StoaError `unusable` for more than 16 MiB; the errors of the body */
export async function readWhole(body: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const whole = await readUpTo(body, maxBytes + 1);
  if (whole.length > maxBytes) throw new StoaError("unusable", `the answer is longer than ${maxBytes} bytes`);
  return whole;
}

/** Reads a body to its end, or to a number of bytes. */
async function readUpTo(body: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk.subarray(0, limit - length));
    length = Math.min(length + chunk.length, limit);
    if (length === limit) break;
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** The error that a reply with another status than 200 reports. */
export function readRefusal(status: number, body: Uint8Array): StoaError {
  const shape = readErrorShape(readJson(body));
  if (shape !== undefined) return shape;
  const code = status >= 500 || status === 429 ? "unavailable" : "unusable";
  return new StoaError(code, `the answer has status ${status} and is not a Stoa's`, { status });
}

/** Parses JSON; undefined if the bytes are not JSON. */
export function readJson(bytes: Uint8Array): unknown {
  try {
    return parseJson(new TextDecoder().decode(bytes));
  } catch {
    return undefined;
  }
}
