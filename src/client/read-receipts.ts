import { sleep, waitBefore } from "./backoff.ts";
import { StoaError } from "./error.ts";
import { open, rootAddress } from "./http.ts";
import { receiptsPath } from "./ledger.ts";
import { readLines } from "./lines.ts";
import { parseLine, type ReceivedReceipt } from "./received-receipt.ts";

export interface ReadOptions {
  /** The root address of the service. */
  url: string;
  /** The first seq; at most one beyond the head. Default: 1. */
  from?: number | undefined;
  /** Go on with each receipt as it is sealed, and connect again whenever the connection or the service ends. */
  follow?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** How long a connection may be silent before another takes its place, in milliseconds. Default: four minutes. */
  silenceMs?: number | undefined;
  /**
   * Told before each wait for another connection, in milliseconds; but not where the service itself ends a stream that
   * was good and says when to come again: services limit the age of streams.
   */
  onInterruption?: ((reason: string, waitMs: number) => void) | undefined;
}

/** No service may make us wait for longer than this, in milliseconds. */
const longestWaitMs = 300_000;
/** A connection that lasted this long was a good one: the next waits begin anew. */
const goodConnectionMs = 10_000;

/**
 * The receipts of a service in the order in which it sends them, without any check but that each line is one: see
 * `verifyReceipts`. Nothing more is read than the consumer takes. Following, it goes on from the last seq + 1 after each
 * interruption, once the service has answered for the first time.
 * @throws StoaError when the service cannot be read; the signal's reason when it aborts; TypeError for a bad address
 */
export async function* readReceipts(options: ReadOptions): AsyncGenerator<ReceivedReceipt, void> {
  const { from = 1, follow = false, signal, silenceMs, onInterruption } = options;
  const stream = `${rootAddress(options.url)}${receiptsPath}/stream`;
  let next = from;
  let answered = false;
  for (let attempt = 0; ; attempt++) {
    const begun = performance.now();
    let interruption: StoaError;
    let isOpen = false;
    try {
      const body = await open(`${stream}?from=${next}${follow ? "&follow=true" : ""}`, signal, silenceMs);
      answered = true;
      isOpen = true;
      for await (const line of readLines(body)) {
        // An empty line keeps the connection alive.
        if (line === "") continue;
        const claim = parseLine(line);
        yield claim;
        next = claim.seq + 1;
        attempt = 0;
      }
      if (!follow) return;
      interruption = new StoaError("unreachable", "the stream ended");
    } catch (error) {
      if (!follow || !answered || !(error instanceof StoaError) || !error.mayPass) throw error;
      interruption = error;
    }
    if (performance.now() - begun > goodConnectionMs) attempt = 0;
    // A connection may have died without a word, or there was nothing to say.
    if (interruption.kind === "silent") continue;
    const waitMs = Math.min(waitBefore(attempt, interruption), longestWaitMs);
    const isPlanned = isOpen && interruption.code === "unavailable" && interruption.retryAfterSeconds !== undefined;
    if (!isPlanned || attempt > 0) onInterruption?.(interruption.message, waitMs);
    await sleep(waitMs, signal);
  }
}
