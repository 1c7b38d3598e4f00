// All that callers are told who break a rule of a field: what is allowed, in plain words.
import { getOption, hasOption } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { field as fieldRules } from "../../gen/buf/validate/validate_pb.js";
import { allowed, Text } from "../../gen/stoa/v1/options_pb.js";
import { contractServices } from "../../scripts/lib/contract.ts";
import { faultOfText } from "../../src/contract/field-rules.ts";
import { ruleSentence } from "../../src/contract/field-words.ts";

const fields = (await contractServices()).flatMap(({ methods }) => methods.flatMap(({ input }) => input.fields));
const ruled = fields.filter((field) => hasOption(field, fieldRules));
const sentences = new Set(ruled.map((field) => ruleSentence(field, field.name)));

describe("the sentence about a broken rule", () => {
  // One of each kind of rule: callers read them literally.
  it.each([
    "act must be remove, restore, lock, unlock, suspend, unsuspend, revoke_keys, erase, update, appoint, dismiss or resolve.",
    "appoint must have at most 100 entries.",
    "sessions must have 1 to 100 entries.",
    "bio must have at most 280 characters.",
    "title must have 3 to 300 characters.",
    "name must not be empty.",
    "limit must be an integer from 1 to 100.",
    "id must be an integer from 1 to 9,007,199,254,740,991.",
    "parent_id must be an integer up to 9,007,199,254,740,991.",
    "vote must be 1, -1 or 0.",
    "date must be a date such as 2026-01-31.",
    "hash must be 64 hexadecimal digits in lower case.",
  ])("says what is allowed: %s", (sentence) => {
    expect([...sentences]).toContain(sentence);
  });

  it("says something of every field with a rule", () => {
    for (const field of ruled) expect(ruleSentence(field, field.name)).toMatch(/^\w+ must .+\.$/);
  });

  it("has words of its own for every pattern", () => {
    for (const field of ruled) {
      const { type } = getOption(field, fieldRules);
      if (type.case === "string" && type.value.pattern !== "") expect(getOption(field, allowed)).not.toBe("");
    }
  });
});

describe("the characters of a text", () => {
  const faultOf = (kind: Text, value: string) => faultOfText(kind, "it", value);
  const controls = [..."\0\b\v\f\x0e\x1b\x1f\x7f\x80\x85\x9b\x9f"];
  const invisible = ["", " ", "\t\r\n", "\u00a0\u3000", "\u200b\u200d", "\u202e\u2066", "\u3164", "\u2800", "\ufe0f"];

  it.each([Text.PLAIN, Text.VISIBLE])("may be all but control characters (%s)", (kind) => {
    for (const good of ["a\tb\nc\r\nd\re", "\u202eabc", "e\u0301", "👩‍👩‍👧", "\ue000"])
      expect(faultOf(kind, good)).toBeUndefined();
    for (const control of controls)
      expect(faultOf(kind, `a${control}`)).toBe(
        "it must have no control characters other than tabs and ends of lines.",
      );
  });

  it("must show something, where the contract says so", () => {
    for (const nothing of invisible) {
      expect(faultOf(Text.PLAIN, nothing)).toBeUndefined();
      expect(faultOf(Text.VISIBLE, nothing)).toBe("it must have more than spaces and invisible characters.");
      expect(faultOf(Text.VISIBLE, `${nothing}.`)).toBeUndefined();
    }
  });
});
