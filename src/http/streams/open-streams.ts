import { Code, ConnectError } from "@connectrpc/connect";
import type { Keys, ShownKey } from "../../calls/service-table.ts";
import { StoaError } from "../../errors.ts";
import type { Overload } from "../../process/overload.ts";
import { Slots } from "../../rate-limits/slots.ts";
import type { StreamLimits } from "../../rate-limits/stream-limits.ts";
import { withTimeout } from "../../timing/wait.ts";
import type { ClientAddresses } from "../admission/client-address.ts";
import type { RequestContext } from "../requests/context.ts";
import { connectionOf, cut } from "../requests/exchange.ts";

interface OpenStreamsOptions {
  limits: StreamLimits;
  addresses: ClientAddresses;
  overload: Pick<Overload, "refusal">;
  keys: Pick<Keys, "shown" | "refusalOfStreams">;
  /** Aborts when the service stops. Streams then end with its reason. */
  shutdown: AbortSignal;
}

interface OpenStream {
  context: RequestContext;
  /** Whether the stream notices by itself that the service stops: it may have a last message. */
  endsItself: boolean;
  /** The agent that the stream counts for; undefined where the request shows no good key. */
  agent: number | undefined;
  /** The API key of that agent. */
  key: ShownKey | undefined;
  /** The address that the stream counts for; undefined where it counts for none. */
  address: string | undefined;
  timer: NodeJS.Timeout;
  /** Whether the stream has been told to end. */
  isEnding: boolean;
}

/** How long the end of a stream may take to reach the client, in milliseconds. After that the response is cut. */
const endMs = 5_000;
/** How long a stop waits for the last messages of streams, in milliseconds. */
const lastMessageMs = 500;
/** How often the API keys of open streams are looked up, in milliseconds. */
const keyLookMs = 2_000;
/** When a refused caller may try again, in seconds. It is a guess: nobody knows when another stream ends. */
const retryAfterSeconds = 10;

/**
 * All open streams of this process, over every protocol: gRPC, gRPC-Web, Connect, newline-delimited JSON and server-sent
 * events. A stream is open from its admission until its response is closed, for whatever reason.
 */
export class OpenStreams {
  readonly #options: OpenStreamsOptions;
  /** Oldest first. */
  readonly #open = new Set<OpenStream>();
  readonly #slots: Slots;
  readonly #byConnection = new WeakMap<object, Set<OpenStream>>();

  constructor(options: OpenStreamsOptions) {
    this.#options = options;
    this.#slots = new Slots(options.limits);
    const { shutdown } = options;
    const timer = setInterval(() => void this.#checkKeys(), keyLookMs).unref();
    shutdown.addEventListener("abort", () => {
      clearInterval(timer);
      for (const { context, endsItself } of this.#open) if (!endsItself) context.abort(shutdown.reason);
    });
  }

  /** How many streams are open. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Admits the stream that a request asks for; to be called before the stream begins.
   * @param endsItself whether the stream notices by itself that the service stops
   * @throws StoaError `rate_limited` where the caller has too many open, `unavailable` where all callers together have or
   * the process is short of memory; the reason of the shutdown;
   * ConnectError `canceled` where the client is gone
   */
  add(context: RequestContext, endsItself = false): void {
    const { limits, addresses, overload, keys, shutdown } = this.#options;
    if (overload.refusal !== undefined) throw overload.refusal;
    shutdown.throwIfAborted();
    const { request, response, notes } = context;
    const { agent } = notes;
    const key = agent === undefined ? undefined : keys.shown(context.header("authorization") ?? "");
    const connection = connectionOf(request);
    if (connection === undefined || !context.isOpen) throw new ConnectError("the client disconnected", Code.Canceled);
    const streams = this.#byConnection.get(connection) ?? new Set<OpenStream>();
    this.#byConnection.set(connection, streams);
    const address = agent === undefined ? addresses.untrusted(request) : undefined;
    const isCounted = agent === undefined && !addresses.isProxied(request);
    this.#take(agent, address, isCounted ? countWithoutAgent(streams) : 0);

    const { maxMs } = limits;
    const timer = setTimeout(() => this.#end(open, tooOld(maxMs)), maxMs * (1 - Math.random() / 10)).unref();
    const open: OpenStream = { context, endsItself, agent, key, address, timer, isEnding: false };
    // The port would count it for as long as its client likes. It is counted and bounded here.
    response.exchange?.keep("objects", 0);
    // So that the port reads on: the end of a client would not be seen behind requests that wait for the end of the stream.
    if (request.httpVersionMajor === 1) response.setHeader("connection", "close");
    this.#open.add(open);
    streams.add(open);
    context.onEnd(() => this.#remove(open, streams));
  }

  /**
   * Resolves when the streams that notice a stop by themselves have been sent completely, after half a second at the latest: a
   * client that reads nothing must not delay the stop.
   */
  async ended(): Promise<void> {
    const own = [...this.#open].filter(({ endsItself }) => endsItself);
    const ends = own.map(({ context }) => new Promise<void>((resolve) => context.onEnd(resolve)));
    await withTimeout(Promise.all(ends), lastMessageMs);
  }

  /** Ends a twentieth of the streams, but at least ten: first those with the most unsent bytes, then the oldest. */
  shed(): void {
    const count = Math.max(10, Math.ceil(this.#open.size / 20));
    const costliest = [...this.#open]
      .filter(({ isEnding }) => !isEnding)
      .sort((a, b) => b.context.response.writableLength - a.context.response.writableLength);
    for (const stream of costliest.slice(0, count)) this.#end(stream, shortOfMemory());
  }

  /** Ends the streams of agents that are erased or suspended, or have another key. Streams may be idle for long. */
  async #checkKeys(): Promise<void> {
    await Promise.all(
      [...this.#open].map(async (stream) => {
        const { agent, key, isEnding } = stream;
        if (agent === undefined || key === undefined || isEnding) return;
        // While the database does not answer, nothing is known. The next look may find out.
        const refusal = await this.#options.keys.refusalOfStreams(key, agent).catch(() => undefined);
        if (refusal !== undefined && this.#open.has(stream)) this.#end(stream, refusal);
      }),
    );
  }

  /** Takes a slot, or throws. */
  #take(agent: number | undefined, address: string | undefined, onConnection: number): void {
    const { perConnection, perAddress, perAgent } = this.#options.limits;
    // Streams of an agent do not count for their connection.
    if (onConnection >= perConnection) throw tooMany("on this connection", perConnection);
    const full = this.#slots.take(agent, address);
    if (full === "perAgent") throw tooMany("of this agent", perAgent);
    if (full === "perAddress") throw tooMany("from this address", perAddress);
    if (full === "total") {
      throw new StoaError("unavailable", "The service has too many open streams.", { retryAfterSeconds });
    }
  }

  #end(stream: OpenStream, reason: StoaError): void {
    clearTimeout(stream.timer);
    stream.isEnding = true;
    stream.timer = setTimeout(() => cut(stream.context.response), endMs).unref();
    stream.context.abort(reason);
  }

  #remove(stream: OpenStream, onConnection: Set<OpenStream>): void {
    if (!this.#open.delete(stream)) return;
    clearTimeout(stream.timer);
    onConnection.delete(stream);
    this.#slots.release(stream.agent, stream.address);
  }
}

function countWithoutAgent(streams: Iterable<OpenStream>): number {
  let count = 0;
  for (const { agent } of streams) if (agent === undefined) count += 1;
  return count;
}

function tooMany(whose: string, max: number): StoaError {
  const message = `There are ${max} open streams ${whose}, the maximum; end one, or try again later.`;
  return new StoaError("rate_limited", message, { retryAfterSeconds });
}

/** The waits differ, so that the streams of many clients do not come back at once. */
function shortOfMemory(): StoaError {
  const message = "The service is short of memory. Connect again, and start from the next seq or id.";
  return new StoaError("unavailable", message, { retryAfterSeconds: 5 + Math.floor(Math.random() * 10) });
}

function tooOld(maxMs: number): StoaError {
  const message = `A stream ends after ${maxMs / 1000} s. Connect again, and start from the next seq or id.`;
  return new StoaError("unavailable", message, { retryAfterSeconds: 1 });
}
