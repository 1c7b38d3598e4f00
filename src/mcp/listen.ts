import { create, type DescMethod } from "@bufbuild/protobuf";
import type { ServerEvent, ServerEventBus } from "@modelcontextprotocol/server";
import {
  InboxService,
  ListInboxRequestSchema,
  type ListInboxResponse,
  WatchInboxRequestSchema,
} from "../../gen/stoa/v1/inbox_service_pb.js";
import type { InterceptorsOf, ServiceTable } from "../calls/service-table.ts";
import { createStreamCall } from "../calls/stream-call.ts";
import { createUnaryCall } from "../calls/unary-call.ts";
import type { StreamFormat } from "../http/rest/stream.ts";
import type { OpenStreams } from "../http/streams/open-streams.ts";
import { inboxUri } from "./resources.ts";
import type { Visitor } from "./visitor.ts";

const { listInbox, watchInbox } = InboxService.method;

/** Server-sent events, which the SDK has written. */
export const eventBytes: StreamFormat<Uint8Array> = {
  contentType: "text/event-stream",
  message: (bytes) => bytes,
  // The stream ends, and its client listens again.
  failure: () => "",
  heartbeat: ": still here\n\n",
};

/** What an agent hears of its inbox while it listens. */
export interface InboxEvents extends ServerEventBus {
  /** Resolves when no event will come any more, for whatever reason. */
  readonly ended: Promise<void>;
  /** To be called when an event is sent. Until then no other event is made: several would say no more than one. */
  sent(): void;
}

/** Begins to listen. @throws StoaError as WatchInbox does */
export type Listen = (visitor: Visitor) => Promise<InboxEvents>;

/** Makes the function that listens to an inbox. It calls WatchInbox, with the same admission, limits and reasons to end. */
export function createListen(
  { services }: Pick<ServiceTable, "services">,
  interceptors: InterceptorsOf,
  streams: Pick<OpenStreams, "add">,
): Listen {
  const served = services.find(({ service }) => service === InboxService);
  if (served === undefined) throw new Error("Nothing serves inboxes.");
  const list = createUnaryCall(listInbox, served.implementation, interceptors);
  const watch = createStreamCall(watchInbox, served.implementation, interceptors);
  return async (visitor) => {
    const { context } = visitor;
    const caller = await visitor.admit(watchInbox, undefined);
    streams.add(context);
    const init = (rpc: DescMethod) => ({
      method: "POST",
      url: context.url,
      headers: () => new Headers(),
      call: context.call(rpc, caller, null),
    });
    // The client is told next that this listens. Whatever comes from then on is news, however late the stream begins.
    const { message } = await list(create(ListInboxRequestSchema, { limit: 1n }), init(listInbox)).catch((error) => {
      throw visitor.fail(error).known;
    });
    const [newest] = (message as ListInboxResponse).items;
    const from = (newest?.id ?? 0n) + 1n;
    const items = await watch(create(WatchInboxRequestSchema, { from, follow: true }), init(watchInbox));
    const end = Promise.withResolvers<void>();
    let isWaiting = false;
    const follow = async (tell: (event: ServerEvent) => void) => {
      try {
        for await (const _ of items) {
          if (!isWaiting) tell({ kind: "resource_updated", uri: inboxUri });
          isWaiting = true;
        }
      } catch (error) {
        visitor.fail(error);
      }
      end.resolve();
    };
    return {
      ended: end.promise,
      sent() {
        isWaiting = false;
      },
      publish() {},
      subscribe(tell) {
        void follow(tell);
        // The items end with the request.
        return () => {};
      },
    };
  };
}
