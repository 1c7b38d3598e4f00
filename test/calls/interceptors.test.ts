import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { isFault } from "../../src/calls/interceptors.ts";
import { errorStatus, StoaError } from "../../src/errors.ts";

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
