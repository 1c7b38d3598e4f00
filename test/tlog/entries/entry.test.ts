// What the vectors of entries do not say.
import { expect, it } from "vitest";
import type { Entry } from "../../../src/tlog/entries/entry.ts";
import { formatEntry, parseEntry } from "../../../src/tlog/entries/entry-text.ts";
import { at, sampleEntries } from "../sample-log.ts";

const ts = "2026-01-31T00:00:04.120Z";
const parse = (text: string) => parseEntry(Buffer.from(text));
const badEntry = expect.objectContaining({ name: "TlogError", code: "bad_entry" });

it("entries of each type are refused if they lack a member, or have another type in it", () => {
  for (const { entry } of sampleEntries) {
    const all = JSON.parse(entry);
    const { type } = parse(entry);
    const members = type === "unknown" ? ["ts", "type", "v"] : Object.keys(all);
    for (const name of members) {
      const { [name]: _, ...without } = all;
      if (name !== "imported")
        expect(() => parse(JSON.stringify(without)), `${type} without ${name}`).toThrow(badEntry);
      const wrong = name === "imported" ? 1 : true;
      expect(() => parse(JSON.stringify({ ...all, [name]: wrong })), `${type} with another ${name}`).toThrow(badEntry);
    }
  }
});

it("later types and members may have names that are special in JavaScript", () => {
  const later = `{"__proto__":1,"ts":"${ts}","type":"constructor","v":1}`;
  expect(parse(later)).toMatchObject({ type: "unknown", named: "constructor" });
  expect(parse(`{"imported":7,"ts":"${ts}","type":"unknown","v":1}`)).toMatchObject({ named: "unknown" });
});

it("50 MB are refused as well, and what is nested 300 times", () => {
  expect(() => parseEntry(new Uint8Array(50_000_000))).toThrow(badEntry);
  expect(() => parse(`{"a":${"[".repeat(300)}${"]".repeat(300)},"ts":"${ts}","type":"key","v":1}`)).toThrow(badEntry);
});

it.each<object>([
  { id: 0 },
  { content: "x" },
  { ts: "now" },
  { note: "é" },
  { note: "\ud800" },
  { note: Number.NaN },
  { imported: undefined },
  { origin: "o".repeat(1024) },
])("an entry cannot be written with values that would not be read: %j", (change) => {
  const entry = { type: "post", id: 1, content: "ab".repeat(32), ts };
  expect(() => formatEntry({ ...entry, ...change } as Entry)).toThrow(badEntry);
  expect(parse(formatEntry(entry as Entry))).toMatchObject(entry);
});

it.each([null, true, [], { origin: "o" }])("the log that another one replaces cannot be %j", (previous) => {
  const log = JSON.parse(sampleEntries[at.log]?.entry as string);
  const { ts, type, v, vkey, origin } = log;
  expect(() => parse(JSON.stringify({ origin, previous, ts, type, v, vkey }))).toThrow(badEntry);
  expect(parse(JSON.stringify({ origin, ts, type, v, vkey }))).toMatchObject({ type: "log" });
});
