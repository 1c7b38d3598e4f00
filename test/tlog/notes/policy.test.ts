import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { TlogError } from "../../../src/tlog/error.ts";
import { formatVkey } from "../../../src/tlog/notes/key.ts";
import { formatPolicy, parsePolicy } from "../../../src/tlog/notes/policy.ts";
import type { SignerKey } from "../../../src/tlog/notes/signer-key.ts";
import { changedText } from "../mutations.ts";
import { sha256, testKey } from "../node-functions.ts";

const url = "https://stoa.example/log";
let key: SignerKey;
let vkey: string;

beforeAll(async () => {
  key = await testKey("stoa.example/log");
  vkey = formatVkey(key);
});

const parse = (text: string | Uint8Array) => parsePolicy(Buffer.from(text as string), sha256);
const logsOf = async (text: string) => (await parse(text)).logs.map(({ key, url }) => [formatVkey(key), url]);

it("is read as it was written", async () => {
  const text = formatPolicy({ logs: [{ key, url }] });
  expect(text).toBe(`log ${vkey} ${url}\nquorum none\n`);
  expect(await logsOf(text)).toEqual([[vkey, url]]);
  expect(await parse(formatPolicy({ logs: [] }))).toEqual({ logs: [] });
});

it("may have comments, empty lines, tabs, several logs, and logs without address", async () => {
  const other = formatVkey(await testKey("other.example/log", 9));
  const text = `# Logs — those we trust\n\n \t\n\t log\t${vkey}  \n quorum   none\t\n  #log x\nlog ${other} ${url}/é\n`;
  expect(await logsOf(text)).toEqual([
    [vkey, undefined],
    [other, `${url}/é`],
  ]);
});

it("is refused for each defect alone", async () => {
  const bad = {
    "no quorum": `log ${vkey} ${url}\n`,
    "two quorums": `log ${vkey} ${url}\nquorum none\nquorum none\n`,
    "a quorum of witnesses": `log ${vkey} ${url}\nquorum w\n`,
    "a quorum of nothing": `log ${vkey} ${url}\nquorum\n`,
    "a quorum of two": `log ${vkey} ${url}\nquorum none none\n`,
    "a witness": `log ${vkey} ${url}\nwitness w ${vkey}\nquorum none\n`,
    "a group": `log ${vkey} ${url}\ngroup g any w\nquorum none\n`,
    "another keyword": `log ${vkey} ${url}\nLOG ${vkey}\nquorum none\n`,
    "a log without key": "log\nquorum none\n",
    "a log with two addresses": `log ${vkey} ${url} ${url}\nquorum none\n`,
    "a log twice": `log ${vkey} ${url}\nlog ${vkey}\nquorum none\n`,
    "a key by two names": `log ${vkey}\nlog ${formatVkey(await testKey("other.example/log"))}\nquorum none\n`,
    "no end of the last line": `log ${vkey} ${url}\nquorum none`,
    "line ends of Windows": `log ${vkey} ${url}\r\nquorum none\r\n`,
    "a control character": `log ${vkey} ${url}\n#\u0001\nquorum none\n`,
    "the character U+007F": `log ${vkey} ${url}\n#\u007f\nquorum none\n`,
    "a byte order mark": `\ufefflog ${vkey} ${url}\nquorum none\n`,
    nothing: "",
  };
  for (const [what, text] of Object.entries(bad)) {
    await expect(parse(text), what).rejects.toMatchObject({ name: "TlogError", code: "bad_policy" });
  }
  await expect(parse(Buffer.from([...Buffer.from("quorum none\n# "), 0xff, 0x0a]))).rejects.toMatchObject({
    code: "bad_policy",
  });
  await expect(parse(`log ${vkey}x ${url}\nquorum none\n`)).rejects.toMatchObject({ code: "bad_key" });
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

it("with any change is refused, or names no other key", async () => {
  await fc.assert(
    fc.asyncProperty(changedText(formatPolicy({ logs: [{ key, url }] })), async (changed) => {
      try {
        for (const log of (await parse(changed)).logs) expect(formatVkey(log.key)).toBe(vkey);
      } catch (error) {
        expect(error).toBeInstanceOf(TlogError);
      }
    }),
    { numRuns: 1000 },
  );
});
