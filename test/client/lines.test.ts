import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLines } from "../../src/client/lines.ts";
import { collect } from "./fake-stoa.ts";

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield new Uint8Array(bytes.subarray(at, at + size));
}

async function linesOf(bytes: Buffer, size = 7, longest?: number): Promise<string[]> {
  return collect(readLines(inPieces(bytes, size), longest));
}

describe("lines of a stream", () => {
  it("are the same however the bytes are cut into chunks", async () => {
    const line = fc.string({ unit: "grapheme", maxLength: 40 }).filter((text) => !text.includes("\n"));
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 8 }), fc.integer({ min: 1, max: 70 }), async (lines, size) => {
        const bytes = Buffer.from(lines.map((each) => `${each}\n`).join(""));
        expect(await linesOf(bytes, size)).toEqual(lines);
      }),
    );
  });

  it("may be much longer than a chunk", async () => {
    const long = "é".repeat(300_000);
    expect(await linesOf(Buffer.from(`a\n${long}\nb\n`), 65_536)).toEqual(["a", long, "b"]);
  });

  it.each([1, 5, 100])("are refused beyond the limit before their end has arrived, in chunks of %i", async (size) => {
    expect(await linesOf(Buffer.from("12345678\n"), size, 8)).toEqual(["12345678"]);
    const refusal = { kind: "unusable", message: "a line of the stream is longer than 8 bytes" };
    await expect(linesOf(Buffer.from("123456789\n"), size, 8)).rejects.toMatchObject(refusal);
    await expect(linesOf(Buffer.from("12\n123456789"), size, 8)).rejects.toMatchObject(refusal);
  });

  it("are refused if they are not UTF-8", async () => {
    await expect(linesOf(Buffer.from([0x61, 0xff, 10]))).rejects.toMatchObject({ kind: "unusable" });
  });

  it("are incomplete if the last one has no end", async () => {
    await expect(linesOf(Buffer.from("a\nb"))).rejects.toMatchObject({ kind: "unreachable" });
  });

  it("are read no faster than they are consumed", async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        read++;
        yield Buffer.from("a line\n");
      }
    }
    const lines = readLines(endless());
    for (let taken = 0; taken < 3; taken++) await lines.next();
    expect(read).toBe(3);
    await lines.return();
  });
});
