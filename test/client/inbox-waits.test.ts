// How soon the typed client connects again to an inbox. Only the service and the time are simulated.
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { InboxService } from "../../gen/stoa/v1/inbox_service_pb.js";
import { followInbox } from "../../src/client/inbox.ts";
import { StoaError } from "../../src/client/index.ts";
import type { PlainClient } from "../../src/client/plain-client.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const minute = 60_000;
/** How many connections last a minute, before one that fails at once. */
const good = 8;

it.each([
  ["were silent for too long", { silenceMs: minute, lastsMs: 60 * minute }],
  ["the service ended by their age", { silenceMs: 60 * minute, lastsMs: minute }],
])("waits no longer after connections without an item that %s", async (_, { silenceMs, lastsMs }) => {
  const begun: number[] = [];
  async function* watchInbox(_: unknown, { signal }: { signal: AbortSignal }) {
    begun.push(performance.now());
    if (begun.length > good) throw new StoaError("unreachable", "the service is restarting");
    await new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      setTimeout(() => reject(new StoaError("unavailable", "the stream is old")), lastsMs);
    });
    yield { item: undefined };
  }
  const controller = new AbortController();
  const inbox = { watchInbox } as unknown as PlainClient<typeof InboxService>;
  const reading = followInbox(inbox, { from: 1, signal: controller.signal, silenceMs }).next();
  const ended = expect(reading).rejects.toThrow("enough");
  while (begun.length < good + 2) await vi.advanceTimersByTimeAsync(1_000);
  const waits = begun
    .slice(1, good + 2)
    .map((at, index) => at - (begun[index] as number) - (index < good ? minute : 0));
  // The second wait in a row is at most twice the first, which is at most 250 ms.
  expect(Math.max(...waits)).toBeLessThanOrEqual(500);
  controller.abort(new Error("enough"));
  await ended;
});
