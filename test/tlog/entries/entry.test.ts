import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Entry } from "../../../src/tlog/entries/entry.ts";
import { entryBytes, formatEntry, parseEntry } from "../../../src/tlog/entries/entry-text.ts";
import { TlogError } from "../../../src/tlog/error.ts";
import { changedBytes, changedText } from "../mutations.ts";
import { sampleEntries } from "../sample-log.ts";

const ts = "2026-01-31T00:00:04.120Z";
const content = "ab".repeat(32);

/** Each type of entry, with its exact text. */
const entries: [Entry, string][] = [
  [
    { type: "log", origin: "stoa.example/log", vkey: "k", ts },
    `{"origin":"stoa.example/log","ts":"${ts}","type":"log","v":1,"vkey":"k"}`,
  ],
  [
    { type: "log", origin: "o", vkey: "k", previous: { origin: "p", root: content, size: 7, vkey: "q" }, ts },
    `{"origin":"o","previous":{"origin":"p","root":"${content}","size":7,"vkey":"q"},"ts":"${ts}","type":"log","v":1,"vkey":"k"}`,
  ],
  [{ type: "agent", id: 7, content, ts }, `{"content":"${content}","id":7,"ts":"${ts}","type":"agent","v":1}`],
  [{ type: "community", id: 2, content, ts }, `{"content":"${content}","id":2,"ts":"${ts}","type":"community","v":1}`],
  [{ type: "post", id: 12, content, ts }, `{"content":"${content}","id":12,"ts":"${ts}","type":"post","v":1}`],
  [
    { type: "comment", id: 3, parent: null, post: 12, content, ts },
    `{"content":"${content}","id":3,"parent":null,"post":12,"ts":"${ts}","type":"comment","v":1}`,
  ],
  [
    { type: "comment", id: 4, parent: 3, post: 12, content, ts, imported: true },
    `{"content":"${content}","id":4,"imported":true,"parent":3,"post":12,"ts":"${ts}","type":"comment","v":1}`,
  ],
  [
    { type: "edit", of: "post", id: 12, content, ts },
    `{"content":"${content}","id":12,"of":"post","ts":"${ts}","type":"edit","v":1}`,
  ],
  [{ type: "deletion", of: "comment", id: 3, ts }, `{"id":3,"of":"comment","ts":"${ts}","type":"deletion","v":1}`],
  [
    { type: "act", act: "remove", id: 5, item: "post", item_id: 12, reason: "spam", role: "moderator", ts },
    `{"act":"remove","id":5,"item":"post","item_id":12,"reason":"spam","role":"moderator","ts":"${ts}","type":"act","v":1}`,
  ],
  [
    { type: "act", act: "lock", id: 6, item: "post", item_id: 12, reason: null, role: "operator", ts },
    `{"act":"lock","id":6,"item":"post","item_id":12,"reason":null,"role":"operator","ts":"${ts}","type":"act","v":1}`,
  ],
  [{ type: "receipt", seq: 9, hash: content, ts }, `{"hash":"${content}","seq":9,"ts":"${ts}","type":"receipt","v":1}`],
  [{ type: "recovery", from: 900, to: 1000, ts }, `{"from":900,"to":1000,"ts":"${ts}","type":"recovery","v":1}`],
];

const parse = (text: string) => parseEntry(Buffer.from(text));
const badEntry = expect.objectContaining({ name: "TlogError", code: "bad_entry" });

describe("entries", () => {
  it("have exactly these bytes, and are read from them", () => {
    for (const [entry, text] of entries) {
      expect(formatEntry(entry)).toBe(text);
      expect(Buffer.from(entryBytes(entry)).toString("latin1")).toBe(text);
      expect(parse(text)).toEqual({ ...entry, v: 1 });
    }
    expect(new Set(entries.map(([{ type }]) => type)).size).toBe(10);
  });

  it("of later versions are no fault, nor are their members", () => {
    const later = `{"a":[{"b":1.5}],"ts":"${ts}","type":"key","v":1}`;
    expect(parse(later)).toEqual({
      type: "unknown",
      named: "key",
      ts,
      members: { a: [{ b: 1.5 }], ts, type: "key", v: 1 },
    });
    const more = `{"__proto__":1,"content":"${content}","id":12,"more":"\\u0000","ts":"${ts}","type":"post","v":1}`;
    expect(parse(more)).toMatchObject({ type: "post", id: 12, more: "\u0000" });
    expect(parse(`{"imported":7,"ts":"${ts}","type":"unknown","v":1}`)).toMatchObject({
      type: "unknown",
      named: "unknown",
    });
    expect(parse(`{"ts":"${ts}","type":"constructor","v":1}`)).toMatchObject({ type: "unknown", named: "constructor" });
  });

  it("have at most 1,024 bytes", () => {
    const entry = (length: number): Entry => ({ type: "log", origin: "o".repeat(length), vkey: "k", ts });
    const most = 1024 - formatEntry(entry(1)).length + 1;
    const longest = formatEntry(entry(most));
    expect(longest.length).toBe(1024);
    expect(parse(longest)).toMatchObject({ type: "log" });
    expect(() => formatEntry(entry(most + 1))).toThrow(badEntry);
    expect(() => parse(longest.replace("oo", "ooo"))).toThrow(badEntry);
    expect(() => parseEntry(new Uint8Array(50_000_000))).toThrow(badEntry);
  });

  it("that lack a member, or have another type in it, are refused", () => {
    for (const [entry, text] of entries) {
      for (const [name, value] of Object.entries({ ...entry, v: 1 })) {
        const all = JSON.parse(text);
        const { [name]: _, ...without } = all;
        const wrong = typeof value === "boolean" ? 1 : true;
        if (!["imported", "previous"].includes(name)) {
          expect(() => parse(JSON.stringify(without)), `${entry.type} without ${name}`).toThrow(badEntry);
        }
        const changed = JSON.stringify({ ...all, [name]: wrong });
        expect(() => parse(changed), `${entry.type} with ${name} ${wrong}`).toThrow(badEntry);
      }
    }
  });

  it("with values out of their range are refused", () => {
    const [post, comment, act] = ["post", "comment", "act"].map(
      (type) => entries.find(([entry]) => entry.type === type)?.[1],
    );
    const changes: [string | undefined, string, string][] = [
      [post, `"id":12`, `"id":0`],
      [post, `"id":12`, `"id":-1`],
      [post, `"id":12`, `"id":1.5`],
      [post, `"id":12`, `"id":9007199254740992`],
      [post, `"id":12`, `"id":"12"`],
      [post, content, content.toUpperCase()],
      [post, content, content.slice(1)],
      [post, ts, "2026-02-30T00:00:04.120Z"],
      [post, ts, "2026-01-31T24:00:00.000Z"],
      [post, ts, "2026-01-31T00:00:04.12Z"],
      [post, ts, "2026-01-31T00:00:04.120+00:00"],
      [post, `"v":1`, `"v":2`],
      [post, `"post"`, `"Post"`],
      [post, `"post"`, `""`],
      [post, `"id":12`, `"id":12,"imported":false`],
      [comment, `"parent":null`, `"parent":0`],
      [act, `"spam"`, `"two words"`],
      [act, `"remove"`, `null`],
    ];
    for (const [text = "", from, to] of changes) {
      const changed = text.replace(from, to);
      expect(changed, from).not.toBe(text);
      expect(() => parse(changed), changed).toThrow(badEntry);
    }
  });

  it("that are not canonical JSON in ASCII are refused", () => {
    const good = `{"ts":"${ts}","type":"key","v":1}`;
    expect(parse(good)).toMatchObject({ type: "unknown" });
    const bad = [
      "",
      "null",
      "[]",
      '"x"',
      "1",
      good.slice(0, -1),
      ` ${good}`,
      `${good}\n`,
      `\ufeff${good}`,
      good.replace(",", ", "),
      `{"type":"key","ts":"${ts}","v":1}`,
      good.replace('"v":1', '"v":1,"v":1'),
      good.replace('"v":1', '"v":1.0'),
      good.replace("key", "k\\u0065y"),
      good.replace('{"', '{"a":"é","'),
      good.replace('{"', '{"a":"\\u00e9","'),
      good.replace('{"', '{"a":"\\ud800","'),
      good.replace('{"', '{"a":1e400,"'),
      good.replace('{"', `{"a":${"[".repeat(300)}${"]".repeat(300)},"`),
    ];
    for (const text of bad) expect(() => parse(text), text).toThrow(badEntry);
    expect(() => parseEntry(Uint8Array.of(0x7b, 0xff, 0x7d))).toThrow(badEntry);
  });

  it("cannot be written with values that would not be read", () => {
    const bad: object[] = [{ id: 0 }, { id: 1.5 }, { content: "x" }, { ts: "now" }, { type: "é" as "post" }];
    const more = [{ note: "é" }, { note: "\ud800" }, { note: Number.NaN }, { imported: undefined }] as object[];
    for (const change of [...bad, ...more]) {
      const entry = { type: "post", id: 1, content, ts, ...change } as Entry;
      expect(() => formatEntry(entry), JSON.stringify(change)).toThrow(badEntry);
    }
  });

  it("with any change are refused, or are other entries with the same text", () => {
    const texts = sampleEntries.map(({ entry }) => entry);
    const changed = fc.constantFrom(...texts).chain((text) =>
      fc.oneof(
        changedText(text).map((text) => Buffer.from(text)),
        changedBytes(Buffer.from(text)),
      ),
    );
    fc.assert(
      fc.property(changed, (bytes) => {
        try {
          const entry = parseEntry(bytes);
          if (entry.type !== "unknown") expect(formatEntry(entry)).toBe(Buffer.from(bytes).toString("latin1"));
        } catch (error) {
          expect(error).toBeInstanceOf(TlogError);
          expect(error).toEqual(badEntry);
        }
      }),
      { numRuns: 3000 },
    );
  });
});
