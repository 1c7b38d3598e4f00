import { describe, expect, it } from "vitest";
import { prefersHtml } from "../../../src/http/replies/accept.ts";
import { chooseEncoding } from "../../../src/http/replies/compression.ts";

describe("the encoding of a reply", () => {
  it.each([
    [undefined, "identity"],
    ["gzip, deflate, br, zstd", "br"],
    ["x-gzip, deflate", "gzip"],
    ["GZIP", "gzip"],
    ["*", "br"],
    ["br;q=0.000, gzip;q=0.001", "gzip"],
    ["gzip;q=0, br;q=0", "identity"],
    ["zstd, deflate", "identity"],
  ])("for Accept-Encoding %j is %s", (accepted, encoding) => {
    expect(chooseEncoding(accepted)).toBe(encoding);
  });
});

describe("HTML is preferred to JSON", () => {
  it.each([
    "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "text/*",
    "application/*;q=0.5, text/html;q=0.6",
  ])("for Accept: %s", (accept) => {
    expect(prefersHtml(accept)).toBe(true);
  });

  it.each([
    undefined,
    "*/*",
    "text/html, application/json",
    "text/html;q=0.5, application/json;q=0.6",
    "*/*, text/html;q=0.1",
    "text/html;q=0",
  ])("not for Accept: %s", (accept) => {
    expect(prefersHtml(accept)).toBe(false);
  });
});
