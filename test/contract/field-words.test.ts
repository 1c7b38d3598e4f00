// All that callers are told who break a rule of a field: what is allowed, in plain words.
import { getOption, hasOption } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { field as fieldRules } from "../../gen/buf/validate/validate_pb.js";
import { allowed } from "../../gen/stoa/v1/options_pb.js";
import { contractServices } from "../../scripts/lib/contract.ts";
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
