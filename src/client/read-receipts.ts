import { goodConnectionMs, sleep, waitBefore } from "./backoff.ts";
import { StoaError } from "./error.ts";
import { defaultSilenceMs, open, rootAddress } from "./http.ts";
import { receiptsPath } from "./ledger.ts";
import { readLines } from "./lines.ts";
import { parseLine, type ReceivedReceipt } from "./received-receipt.ts";

export interface ReadOptions {
  /** The root address of the service. */
  url: string;
  /** The first seq; at most one beyond the head. Default: 1. */
  from?: number | undefined;
  /** Continue with each receipt as it is sealed, and connect again whenever the connection or the service ends. */
  follow?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /**
   * How long to wait for bytes, and without `follow` for a receipt, in milliseconds. Then `follow` replaces the connection.
   * Default: four minutes.
   */
  silenceMs?: number | undefined;
  /**
   * Called before each wait for a new connection; the wait is in milliseconds. It is not called when the service itself
   * ends a good stream and says when to come back: services limit the age of streams.
   */
  onInterruption?: ((reason: string, waitMs: number) => void) | undefined;
}

/** The longest wait that a service may cause, in milliseconds. */
const maxWaitMs = 300_000;

/**
 * Reads the receipts of a service in the order in which it sends them. It checks only that each line is a receipt;
 * `verifyReceipts` verifies them. It reads no more than the consumer takes. With `follow` it continues from the last
 * seq + 1 after each interruption, once the service has answered for the first time.
 * @throws StoaError when the service cannot be read; the signal's reason when it aborts; TypeError for a bad address
 */
export async function* readReceipts(options: ReadOptions): AsyncGenerator<ReceivedReceipt, void> {
  const { from = 1, follow = false, signal, silenceMs = defaultSilenceMs, onInterruption } = options;
  const stream = `${rootAddress(options.url)}${receiptsPath}/stream`;
  let next = from;
  let answered = false;
  for (let attempt = 0; ; attempt++) {
    const begun = performance.now();
    let interruption: StoaError;
    let isOpen = false;
    const late = new AbortController();
    const end = () => late.abort(new StoaError("silent", `no receipt came for ${silenceMs / 1000} s`));
    // Empty lines and parts of a line could keep a reader waiting for ever. To a follower, empty lines are news.
    const limit = () => (follow ? undefined : setTimeout(end, silenceMs));
    let timer = limit();
    try {
      const either = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]);
      const body = await open(`${stream}?from=${next}${follow ? "&follow=true" : ""}`, either, silenceMs);
      answered = true;
      isOpen = true;
      for await (const line of readLines(body)) {
        // An empty line keeps the connection alive.
        if (line === "") continue;
        clearTimeout(timer);
        const receipt = parseLine(line);
        yield receipt;
        timer = limit();
        next = receipt.seq + 1;
        attempt = 0;
      }
      if (!follow) return;
      interruption = new StoaError("unreachable", "the stream ended");
    } catch (error) {
      if (!follow || !answered || !(error instanceof StoaError) || !error.mayPass) throw error;
      interruption = error;
    } finally {
      clearTimeout(timer);
    }
    if (performance.now() - begun > goodConnectionMs) attempt = 0;
    // Either the connection has died, or nothing was sealed. Neither needs a wait.
    if (interruption.kind === "silent") continue;
    const waitMs = Math.min(waitBefore(attempt, interruption), maxWaitMs);
    const isPlanned = isOpen && interruption.code === "unavailable" && interruption.retryAfterSeconds !== undefined;
    if (!isPlanned || attempt > 0) onInterruption?.(interruption.message, waitMs);
    await sleep(waitMs, signal);
  }
}
