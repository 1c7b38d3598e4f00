import { expect, it } from "vitest";
import { respell } from "../../../src/http/rpc/status-message.ts";

it.each([
  "title: must be at least 3 characters.",
  "Too many posts; try again in 3 s, or so: a/b?c=d&e@f#g$h+i",
  "100 %, and %3A as it stands",
  "é \u{1f3db} \u0000\n\u007f",
  "",
])("a gRPC client that decodes only what the protocol requires reads %j", (message) => {
  const spelt = respell(encodeURIComponent(message));
  expect(spelt).toMatch(/^[\x20-\x7e]*$/);
  // As grpc-js does, and as Connect does.
  expect(decodeURI(spelt)).toBe(message);
  expect(decodeURIComponent(spelt)).toBe(message);
});
