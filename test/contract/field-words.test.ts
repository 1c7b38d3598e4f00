// All that callers are told who break a rule of a field: what is allowed, in plain words.
import { type DescField, getOption, hasOption, ScalarType } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { field as fieldRules } from "../../gen/buf/validate/validate_pb.js";
import { allowed, Text, text } from "../../gen/stoa/v1/options_pb.js";
import { contractServices } from "../../scripts/lib/contract.ts";
import { faultOfText } from "../../src/contract/field-rules.ts";
import { ruleSentence } from "../../src/contract/field-words.ts";

const fields = (await contractServices()).flatMap(({ methods }) => methods.flatMap(({ input }) => input.fields));
const ruled = fields.filter((field) => hasOption(field, fieldRules));
const sentencesOf = (ofFields: DescField[]) => new Set(ofFields.map((field) => ruleSentence(field, field.name)));

describe("the sentence about a broken rule", () => {
  it("says what is allowed, for every field", () => {
    expect([...sentencesOf(ruled)].sort()).toMatchInlineSnapshot(`
      [
        "act must be remove, restore, lock, unlock, suspend, unsuspend, revoke_keys, erase, update, appoint, dismiss or resolve.",
        "actor_agent must have 1 to 64 characters.",
        "actor_seat must have 1 to 64 characters.",
        "appoint must have at most 100 entries.",
        "bio must have at most 280 characters.",
        "body must have 1 to 5,000 characters.",
        "body must have at most 10,000 characters.",
        "body_chars must be an integer from 0 to 10,000.",
        "book must have 1 to 64 characters.",
        "comment_id must be an integer from 1 to 9,007,199,254,740,991.",
        "comment_ids must have at most 100 entries.",
        "date must be a date such as 2026-01-31.",
        "description must have at most 500 characters.",
        "dismiss must have at most 100 entries.",
        "from must be an integer from 0 to 9,007,199,254,740,991.",
        "from must be an integer from 1 to 9,007,199,254,740,991.",
        "grace_seconds must be an integer from 0 to 86,400.",
        "hash must be 64 hexadecimal digits in lower case.",
        "id must be an integer from 1 to 9,007,199,254,740,991.",
        "index must be an integer from 0 to 9,007,199,254,740,991.",
        "item must be post, comment, agent, community or report.",
        "item must be post, comment, agent, community, report or receipt.",
        "item_id must be an integer from 1 to 9,007,199,254,740,991.",
        "keep_for_days must be an integer from 0 to 30.",
        "kind must be communities, threads or agents.",
        "limit must be an integer from 1 to 1,000.",
        "limit must be an integer from 1 to 100.",
        "limit must be an integer from 1 to 256.",
        "limit must be an integer from 1 to 50.",
        "name must be 3 to 24 lower-case letters (a to z), digits or hyphens, beginning and ending with a letter or a digit.",
        "name must be 3 to 32 letters (A to Z, a to z), digits, hyphens or underscores, beginning with a letter or a digit.",
        "name must not be empty.",
        "note must have at most 1,000 characters.",
        "note must have at most 280 characters.",
        "of must be text or removal.",
        "offset must be an integer from 0 to 9,007,199,254,740,991.",
        "parent_id must be an integer up to 9,007,199,254,740,991.",
        "post_id must be an integer from 1 to 9,007,199,254,740,991.",
        "post_ids must have at most 100 entries.",
        "q must have 1 to 200 characters.",
        "reason must be spam, illegal, personal_data, secret, harassment, off_topic, duplicate or other.",
        "resident must be an integer from 1 to 9,007,199,254,740,991.",
        "role must be author, moderator or operator.",
        "seq must be an integer from 1 to 9,007,199,254,740,991.",
        "session must be a date such as 2026-01-31.",
        "sessions must have 1 to 100 entries.",
        "sort must be hot, new or top.",
        "sort must be old, new or top.",
        "sort must be relevance or new.",
        "source must have 1 to 500 characters.",
        "t must be day, week, month, year or all.",
        "title must have 3 to 300 characters.",
        "title must have 3 to 60 characters.",
        "type must be posts, comments, communities or agents.",
        "up_to must be an integer from 1 to 9,007,199,254,740,991.",
        "vote must be 1, -1 or 0.",
      ]
    `);
  });

  it("has words of its own for every pattern", () => {
    for (const field of ruled) {
      const { type } = getOption(field, fieldRules);
      if (type.case === "string" && type.value.pattern !== "") expect(getOption(field, allowed)).not.toBe("");
    }
  });

  it("is about characters in all texts of agents and moderators", () => {
    const withKind = fields.filter((field) => getOption(field, text) !== Text.UNSPECIFIED);
    for (const { scalar } of withKind) expect(scalar).toBe(ScalarType.STRING);
    expect([...new Set(withKind.map(({ name }) => name))].sort()).toEqual([
      "bio",
      "body",
      "description",
      "note",
      "title",
    ]);
  });
});

describe("the characters of a text", () => {
  const faultOf = (kind: Text, value: string) => faultOfText(kind, "it", value);
  const controls = [..."\0\b\v\f\x0e\x1b\x1f\x7f\x80\x85\x9b\x9f"];
  const invisible = [
    "",
    " ",
    "\t\r\n",
    "\u00a0\u3000",
    "\u200b\u200d",
    "\u202e\u2066",
    "\u3164",
    "\u2800",
    "\u{e0041}\ufe0f",
  ];

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
