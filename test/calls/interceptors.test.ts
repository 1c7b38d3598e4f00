import { Code, ConnectError, type StreamRequest } from "@connectrpc/connect";
import { expect, it, vi } from "vitest";
import { InboxService } from "../../gen/stoa/v1/inbox_service_pb.js";
import { requestOf } from "../../src/calls/context.ts";
import { isFault, mapErrors } from "../../src/calls/interceptors.ts";
import { errorStatus, StoaError } from "../../src/errors.ts";
import { callWithoutLimits } from "../support/call-context.ts";

const codes = Object.keys(errorStatus) as (keyof typeof errorStatus)[];
const noFaults: (keyof typeof errorStatus)[] = ["rate_limited", "internal", "unavailable"];

it.each(codes)(
  "a call that fails with %s is a fault of its caller, unless it came too soon or the service failed",
  (code) => {
    const error = new StoaError(code, "A message.");
    expect(isFault(error)).toBe(!noFaults.includes(code));
    // As an interceptor further in has mapped it.
    expect(isFault(new ConnectError("A message.", Code.Unknown, undefined, undefined, error))).toBe(
      !noFaults.includes(code),
    );
  },
);

it.each([Code.Canceled, Code.DeadlineExceeded, Code.Internal, Code.Unknown])(
  "a call that ends with Connect's code %d is not a fault of its caller",
  (code) => {
    expect(isFault(new ConnectError("A message.", code))).toBe(false);
  },
);

it("an unknown failure is not a fault of the caller", () => {
  for (const error of [new Error("a bug"), undefined, "text"]) expect(isFault(error)).toBe(false);
});

it.each([
  ["ECONNRESET", Code.Canceled, 0],
  ["ERR_STREAM_DESTROYED", Code.Canceled, 0],
  ["ERR_HTTP2_INVALID_STREAM", Code.Canceled, 0],
  ["ENOENT", Code.Internal, 1],
])(
  "a stream whose reply fails with %s ends with Connect's code %d, and %d lines in the log",
  async (code, expected, lines) => {
    const contextValues = callWithoutLimits();
    const log = vi.spyOn(requestOf(contextValues).log, "error");
    const rpc = InboxService.method.watchInbox;
    const call = {
      stream: true,
      service: InboxService,
      method: rpc,
      signal: new AbortController().signal,
      contextValues,
    };
    async function* messages() {
      yield {};
    }
    const next = async () => ({ stream: true, message: messages() }) as never;
    const response = await mapErrors(next)(call as unknown as StreamRequest);
    const sent = (response.message as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    await sent.next();
    // Connect hands on why a message could not be written.
    const failure = await sent.throw?.(Object.assign(new Error("not written"), { code })).catch((error) => error);
    expect((failure as ConnectError).code).toBe(expected);
    expect(log).toHaveBeenCalledTimes(lines);
  },
);
