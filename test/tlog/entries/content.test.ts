// What the vectors of contents do not say.
import { expect, it } from "vitest";
import { type ContentKind, commitment, formatContent, parseContent } from "../../../src/tlog/entries/content.ts";
import { sha256 } from "../node-functions.ts";
import { texts } from "../sample-log.ts";

const badContent = expect.objectContaining({ name: "TlogError", code: "bad_content" });

it.each<ContentKind>(["agent", "community", "post", "comment"])(
  "content of kind %s is refused if it lacks a member, or has another type in it",
  (kind) => {
    const all: Record<string, unknown> = texts[kind];
    expect(parseContent(kind, formatContent(kind, all as never))).toEqual(all);
    for (const name of Object.keys(all)) {
      const { [name]: _, ...without } = all;
      expect(() => parseContent(kind, JSON.stringify(without)), `without ${name}`).toThrow(badContent);
      for (const wrong of [true, [], {}, ...(typeof all[name] === "string" ? [null, 1] : ["1", 0, 1.5, -1])]) {
        expect(() => parseContent(kind, JSON.stringify({ ...all, [name]: wrong })), name).toThrow(badContent);
      }
    }
  },
);

it("an agent may have a resident", () => {
  expect(formatContent("agent", { resident: 7, name: "Z", bio: "" })).toBe('{"bio":"","name":"Z","resident":7}');
});

it("content cannot be written with half of a character or the id 0, and a salt has 16 bytes", () => {
  expect(() => formatContent("comment", { agent: 4, body: "\ud83d" })).toThrow(badContent);
  expect(() => formatContent("comment", { agent: 0, body: "" })).toThrow(badContent);
  for (const length of [0, 15, 17]) expect(() => commitment(new Uint8Array(length), "", sha256)).toThrow(badContent);
});
