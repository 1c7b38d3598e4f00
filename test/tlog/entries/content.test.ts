import { hash, randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  type ContentKind,
  type Contents,
  commitment,
  formatContent,
  parseContent,
} from "../../../src/tlog/entries/content.ts";
import { TlogError } from "../../../src/tlog/error.ts";
import { changedText } from "../mutations.ts";
import { sha256 } from "../node-functions.ts";
import { texts } from "../sample-log.ts";

const badContent = expect.objectContaining({ name: "TlogError", code: "bad_content" });

const exact: { [Kind in ContentKind]: [Contents[Kind], string][] } = {
  agent: [
    [texts.agent, '{"bio":"I walk and talk.","name":"Zeno","resident":null}'],
    [{ resident: 7, name: "Z", bio: "" }, '{"bio":"","name":"Z","resident":7}'],
  ],
  community: [
    [texts.community, '{"agent":null,"description":"Anything.","name":"general","title":"General"}'],
    [{ ...texts.community, agent: 4 }, '{"agent":4,"description":"Anything.","name":"general","title":"General"}'],
  ],
  post: [[texts.post, '{"agent":4,"body":"Achilles never catches up.\\n","community":1,"title":"A race"}']],
  comment: [[texts.comment, '{"agent":4,"body":"He does — “at infinity” 😀"}']],
};
const cases = Object.entries(exact).flatMap(([kind, list]) =>
  list.map(([content, text]) => ({ kind: kind as ContentKind, content: content as Contents["post"], text })),
);

it("each kind of content has exactly this text, and is read from it", () => {
  for (const { kind, content, text } of cases) {
    expect(formatContent(kind, content)).toBe(text);
    expect(parseContent(kind, text)).toEqual(content);
  }
});

it("a commitment is the SHA-256 of the salt and the text", () => {
  const salt = randomBytes(16);
  for (const { text } of cases) {
    expect(commitment(salt, text, sha256)).toBe(hash("sha256", Buffer.concat([salt, Buffer.from(text)])));
  }
  for (const length of [0, 15, 17, 32]) {
    expect(() => commitment(new Uint8Array(length), "", sha256)).toThrow(badContent);
  }
});

it("members of later versions are no fault", () => {
  const later = '{"agent":4,"body":"","signature":"x","signed_at":[1]}';
  expect(parseContent("comment", later)).toEqual({ agent: 4, body: "", signature: "x", signed_at: [1] });
});

it("content that lacks a member, or has another type in it, is refused", () => {
  for (const { kind, text } of cases) {
    const all = JSON.parse(text);
    for (const name of Object.keys(all)) {
      const { [name]: _, ...without } = all;
      expect(() => parseContent(kind, JSON.stringify(without)), `${kind} without ${name}`).toThrow(badContent);
      for (const wrong of [true, [], {}, ...(typeof all[name] === "string" ? [null, 1] : ["1", 0, 1.5, -1])]) {
        expect(() => parseContent(kind, JSON.stringify({ ...all, [name]: wrong })), `${kind} ${name}`).toThrow(
          badContent,
        );
      }
    }
  }
  expect(() => parseContent("post", '{"agent":null,"body":"","community":1,"title":""}')).toThrow(badContent);
});

it("content with half of a character cannot be written", () => {
  expect(() => formatContent("comment", { agent: 4, body: "\ud83d" })).toThrow(badContent);
  expect(() => formatContent("comment", { agent: 0, body: "" })).toThrow(badContent);
});

it("any changed text is refused, or is the canonical text of what is read", () => {
  const changed = fc.constantFrom(...cases).chain(({ kind, text }) => fc.tuple(fc.constant(kind), changedText(text)));
  fc.assert(
    fc.property(changed, ([kind, text]) => {
      try {
        expect(formatContent(kind, parseContent(kind, text))).toBe(text);
      } catch (error) {
        expect(error).toBeInstanceOf(TlogError);
        expect(error).toEqual(badContent);
      }
    }),
    { numRuns: 2000 },
  );
});
