// What the vectors of policies do not say.
import { expect, it } from "vitest";
import { formatVkey } from "../../../src/tlog/notes/key.ts";
import { formatPolicy, parsePolicy } from "../../../src/tlog/notes/policy.ts";
import type { SignerKey } from "../../../src/tlog/notes/signer-key.ts";
import { sha256, testKey } from "../node-functions.ts";

const url = "https://stoa.example/log";

const key: SignerKey = await testKey("stoa.example/log");

const parse = (text: string) => parsePolicy(Buffer.from(text), sha256);

it("is read as it was written", async () => {
  const text = formatPolicy({ logs: [{ key, url }] });
  expect(text).toBe(`log ${formatVkey(key)} ${url}\nquorum none\n`);
  expect((await parse(text)).logs).toMatchObject([{ key: { id: key.id }, url }]);
});

it("has at most 32 logs and 64 KiB", async () => {
  const keys = await Promise.all(Array.from({ length: 33 }, (_, at) => testKey("a", at)));
  const of = (count: number) => formatPolicy({ logs: keys.slice(0, count).map((key) => ({ key })) });
  expect((await parse(of(32))).logs).toHaveLength(32);
  await expect(parse(of(33))).rejects.toMatchObject({ code: "bad_policy" });
  const padded = (bytes: number) => `#${"x".repeat(bytes - "quorum none\n".length - 2)}\nquorum none\n`;
  expect(await parse(padded(65_536))).toEqual({ logs: [] });
  await expect(parse(padded(65_537))).rejects.toMatchObject({ code: "bad_policy" });
});

it("cannot be written with an address that would not be read", () => {
  for (const url of ["", "a b", "a\nlog x", "a\u0000"]) {
    const message = expect.stringContaining("a URL is empty, or has a space or a control character");
    expect(() => formatPolicy({ logs: [{ key, url }] })).toThrow(
      expect.objectContaining({ code: "bad_policy", message }),
    );
  }
});

it.each([
  ["a control character", Buffer.from("quorum none\n#\u0001\n")],
  ["the character U+007F", Buffer.from("quorum none\n#\u007f\n")],
  ["a byte that is no UTF-8", Buffer.from([...Buffer.from("quorum none\n# "), 0xff, 0x0a])],
  ["a quorum of nothing", Buffer.from("quorum\n")],
  ["a quorum of two", Buffer.from("quorum none none\n")],
  ["a quorum of witnesses", Buffer.from("quorum w\n")],
  ["another keyword", Buffer.from("group none\n")],
  ["a log without key", Buffer.from("log\nquorum none\n")],
])("is refused with %s", async (_, bytes) => {
  await expect(parsePolicy(bytes, sha256)).rejects.toMatchObject({ code: "bad_policy" });
});
