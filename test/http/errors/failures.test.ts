import { expect, it } from "vitest";
import { connectionFailure } from "../../../src/http/errors/failures.ts";

it.each([
  [400, "bad_input", "malformed"],
  [408, "bad_input", "did not arrive in time"],
  [413, "too_large", "chunk extensions"],
  [429, "rate_limited", "too many connections"],
  [431, "bad_input", "headers are too large"],
])("a connection that is refused with %i learns why", (status, code, why) => {
  const { code: told, message } = connectionFailure(status);
  expect([told, message]).toEqual([code, expect.stringContaining(why)]);
});
