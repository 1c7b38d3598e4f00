import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { checkRules } from "../../src/contract/field-rules.ts";
import type { StoaError } from "../../src/errors.ts";
import { fixtureMessage } from "../support/fixture.ts";

const ManyRules = fixtureMessage("ManyRules");

const BrokenRule = fixtureMessage("BrokenRule");

const violationOf = (init: Record<string, unknown>): StoaError | undefined => {
  try {
    checkRules(ManyRules, create(ManyRules, init as MessageInitShape<typeof ManyRules>));
    return undefined;
  } catch (error) {
    return error as StoaError;
  }
};

const ruled = (title: string) => ({ title, number: 1n });
const good = { first: "ab", second: "12345", list: [ruled("12345")] };

describe("the field rules of a request", () => {
  it("accept the longest text, counted in code points, and text that matches the pattern", () => {
    expect(violationOf(good)).toBeUndefined();
    expect(violationOf({ ...good, first: "a\u{1f600}", second: "\u{1f600}".repeat(5) })).toBeUndefined();
  });

  it("report the violation in the field with the lowest number", () => {
    const violation = violationOf({ first: "b", second: "123456", list: [ruled("")] });
    expect(violation).toMatchObject({ code: "bad_input", field: "first" });
    expect(violation?.message).toBe("first: does not match regex pattern `^a.$`.");
    expect(violationOf({ ...good, second: "123456", list: [ruled("")] })).toMatchObject({
      field: "second",
      message: "second: must be at most 5 characters.",
    });
  });

  it("name an element of a list by its index, and a field of a message by its path", () => {
    expect(violationOf({ ...good, list: [ruled("1"), ruled("123456")] })?.field).toBe("list.1.title");
    expect(violationOf({ ...good, ruled: ruled("123456") })?.field).toBe("ruled.title");
    expect(violationOf({ ...good, ruled: ruled("12345") })).toBeUndefined();
    expect(violationOf({ ...good, named: { key: ruled("123456") } })?.field).toBe("named.title");
  });

  it("fail if a rule itself is invalid, and report no violation", () => {
    expect(() => checkRules(BrokenRule, create(BrokenRule, { text: "a" }))).toThrow(/regular expression/i);
  });
});
