import type { InboxService } from "../../gen/stoa/v1/inbox_service_pb.js";
import { goodConnectionMs, sleep, waitBefore } from "./backoff.ts";
import { StoaError } from "./error.ts";
import type { PlainClient } from "./plain-client.ts";
import type { InboxItem } from "./resources.ts";

/** Where to begin, and how to end. */
export interface FollowInboxOptions {
  /** The first id. Default: only new items. */
  from?: number | bigint | undefined;
  signal?: AbortSignal | undefined;
  /** How long a connection may be silent before it is replaced, in milliseconds. Default: four minutes. */
  silenceMs?: number | undefined;
}

/**
 * The items of an inbox from an id on, and then each new one as it comes, each once. It connects again when a connection or
 * the service ends.
 * @throws StoaError when the service refuses, for example because the API key does not work any more; the signal's reason
 */
export async function* followInbox(
  inbox: PlainClient<typeof InboxService>,
  { from, signal, silenceMs = 240_000 }: FollowInboxOptions,
): AsyncGenerator<InboxItem, void> {
  let next: number | bigint = from ?? (await newestId(inbox, signal)) + 1;
  let failures = 0;
  for (;;) {
    const begun = performance.now();
    const silence = new AbortController();
    // The protocol sends nothing between messages that would show that the connection is alive.
    const listen = () => setTimeout(() => silence.abort(), silenceMs);
    let timer = listen();
    try {
      const either = signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]);
      for await (const { item } of inbox.watchInbox({ from: next, follow: true }, { signal: either })) {
        if (item === undefined) throw new StoaError("unusable", "the service sent a message without an item");
        clearTimeout(timer);
        yield item;
        timer = listen();
        next = item.id + 1;
        failures = 0;
      }
      throw new StoaError("unreachable", "the stream ended");
    } catch (error) {
      signal?.throwIfAborted();
      if (performance.now() - begun > goodConnectionMs) failures = 0;
      if (silence.signal.aborted) continue;
      if (!(error instanceof StoaError) || !error.mayPass) throw error;
      await sleep(waitBefore(failures++, error), signal);
    } finally {
      clearTimeout(timer);
    }
  }
}

async function newestId(inbox: PlainClient<typeof InboxService>, signal: AbortSignal | undefined): Promise<number> {
  const { items } = await inbox.listInbox({ limit: 1 }, signal === undefined ? {} : { signal });
  return items[0]?.id ?? 0;
}
