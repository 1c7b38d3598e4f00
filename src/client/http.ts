import { isObject, type JsonObject, ReadError, readErrorShape } from "./read-error.ts";

/** How long a reply's head may take, in milliseconds. */
const headMs = 30_000;
/** How long a reply may be silent, in milliseconds, where nothing else is said. */
const silenceMs = 240_000;
/** The most bytes of a reply that is read as a whole. */
const mostBytes = 16 * 1024 * 1024;

/**
 * The root address of a service in one spelling: without a slash at its end.
 * @throws TypeError when it is none
 */
export function rootAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw new TypeError("it is not an http or https address");
  if (url.username !== "" || url.password !== "") throw new TypeError("it holds a user name or a password");
  if (url.search !== "" || url.hash !== "") throw new TypeError("it has a query or a fragment");
  return url.href.replace(/\/+$/, "");
}

/**
 * Gets an address and returns the reply's body, as it comes, once its head is there and says 200.
 * @param silence how long may pass without a byte, in milliseconds
 * @throws ReadError; the signal's reason when it aborts. So does the body
 */
export async function open(
  address: string,
  signal: AbortSignal | undefined,
  silence = silenceMs,
): Promise<AsyncGenerator<Uint8Array, void>> {
  const clock = new SilenceClock(signal);
  // A proxy that compresses would hold back the lines of a stream that is followed.
  const headers = { "accept-encoding": "identity" };
  const response = await clock.within(headMs, fetch(address, { signal: clock.signal, headers }));
  const body = readBody(response, clock, silence);
  if (response.status === 200) return body;
  throw await readRefusal(response.status, body);
}

async function* readBody(response: Response, clock: SilenceClock, silence: number): AsyncGenerator<Uint8Array, void> {
  const chunks = response.body?.values();
  if (chunks === undefined) return;
  try {
    for (;;) {
      const next = await clock.within(silence, chunks.next());
      if (next.done) return;
      yield next.value;
    }
  } finally {
    await chunks.return?.();
  }
}

/** Ends a request when nothing comes for too long, but not while nobody waits for it. */
class SilenceClock {
  readonly signal: AbortSignal;
  readonly #given: AbortSignal | undefined;
  readonly #late = new AbortController();

  constructor(given: AbortSignal | undefined) {
    this.#given = given;
    this.signal = given === undefined ? this.#late.signal : AbortSignal.any([given, this.#late.signal]);
  }

  /** What the request gives. @throws ReadError; the given signal's reason when that aborts */
  async within<T>(ms: number, step: Promise<T>): Promise<T> {
    const timer = setTimeout(() => this.#late.abort(), ms);
    try {
      return await step;
    } catch (error) {
      if (this.#given?.aborted) throw this.#given.reason;
      if (this.#late.signal.aborted) throw new ReadError("silent", `nothing came for ${ms / 1000} s`);
      throw new ReadError("unreachable", `the connection failed: ${reasonOf(error)}`);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** @throws ReadError; the signal's reason when it aborts */
export async function getBytes(address: string, signal: AbortSignal | undefined): Promise<Buffer> {
  return readWhole(await open(address, signal));
}

/** @throws ReadError; the signal's reason when it aborts */
export async function getObject(address: string, signal: AbortSignal | undefined): Promise<JsonObject> {
  const value = parse(await getBytes(address, signal));
  if (!isObject(value)) throw new ReadError("unusable", "the answer is not a JSON object");
  return value;
}

async function readWhole(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > mostBytes) throw new ReadError("unusable", `the answer is longer than ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

async function readRefusal(status: number, body: AsyncIterable<Uint8Array>): Promise<ReadError> {
  const shape = readErrorShape(parse(await readWhole(body)));
  if (shape !== undefined) return shape;
  const kind = status >= 500 || status === 429 ? "unavailable" : "unusable";
  return new ReadError(kind, `the answer has status ${status} and is not a Stoa's`);
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

/** fetch says "fetch failed", and why in a chain of causes; Node's and undici's own words need no cleaning. */
function reasonOf(error: unknown): string {
  let reason = String(error);
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    reason = (at as NodeJS.ErrnoException).code ?? (at.message || reason);
  }
  return reason;
}
