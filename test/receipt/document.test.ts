import { describe, expect, it } from "vitest";
import type { Json } from "../../src/receipt/canonical.ts";
import { findMalformedMember, isDate, isHash } from "../../src/receipt/document.ts";
import { documentAt, otherHash } from "./chain.ts";

const head = "a".repeat(64);
const genesis = () => documentAt(1, head);
const session = () => documentAt(2, head);
const daily = () => documentAt(3, head);
const recovery = () => {
  const { count, head } = session().body;
  return {
    ...session(),
    body: { type: "recovery", count, head, abandoned_seq: 1, abandoned_hash: otherHash, note: "" },
  };
};

/** The path of a malformed member after the member at `path` was set to `value`, or removed. */
function findWith(document: Record<string, Json>, path: string, value: Json | undefined): string | undefined {
  const names = path.split(".");
  const last = names.pop() as string;
  let target = document;
  for (const name of names) target = target[name] as Record<string, Json>;
  if (value === undefined) delete target[last];
  else target[last] = value;
  return findMalformedMember(document, head);
}

describe("findMalformedMember", () => {
  it.each([genesis, session, daily, recovery])("accepts a good document: $name", (make) => {
    expect(findMalformedMember(make(), head)).toBeUndefined();
    // The known hash only saves a check.
    expect(findMalformedMember(make(), otherHash)).toBeUndefined();
  });

  it.each<[string, () => Record<string, Json>, Json[]]>([
    ["v", session, [0, 2, "1"]],
    ["seq", session, [0, -1, 1.5, 2 ** 53, "2"]],
    ["kind", session, [1]],
    [
      "ts",
      session,
      [
        1,
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "2026-02-29T00:00:00.000Z",
        "2026-01-01T24:00:00.000Z",
        ["2026-01-01T00:00:00.000Z"],
      ],
    ],
    ["city_day", session, [-1, 1.5, "1"]],
    ["book", session, [1, {}]],
    ["actor", session, ["operator", [], null]],
    ["actor.agent", session, [1, null]],
    ["actor.seat", session, [1, null]],
    ["prev_hash", session, [1, "a", head.toUpperCase(), `${head}a`]],
    ["refs", session, [{}, "", null]],
    ["evidence", session, [[], "", null]],
    ["body", session, [[], "", null]],
    ["body.type", session, [1, null, "genesis"]],
    ["body.type", genesis, [1, "session"]],
    ["body.count", session, [-1, 0.5, "1"]],
    ["body.head", session, [1, "a", head.toUpperCase()]],
    ["body.note", genesis, [1, null]],
    ["body.note", session, [1, null]],
    ["body.note", recovery, [1, null]],
    ["body.session", session, [1, "2026-02-30", "2026-1-1"]],
    ["body.date", daily, [1, "2026-02-30", "2026-1-1"]],
    ["body.head_seq", daily, [-1, 0.5, "1"]],
    ["body.verify_ok", daily, [1, "true", null]],
    ["body.abandoned_seq", recovery, [0, -1, 0.5, "1"]],
    ["body.abandoned_hash", recovery, [1, "a", head.toUpperCase()]],
  ])("finds a bad %s", (path, make, values) => {
    for (const value of [undefined, ...values]) expect([value, findWith(make(), path, value)]).toEqual([value, path]);
  });

  it.each<[string, () => Record<string, Json>, Json[]]>([
    ["seq", session, [2 ** 53 - 1]],
    ["city_day", session, [0]],
    ["book", session, [null, ""]],
    ["kind", session, ["", "another"]],
    ["prev_hash", session, [otherHash]],
    ["body.head", session, [otherHash]],
    ["body.count", session, [0]],
    ["body.note", daily, [7]],
    ["body.session", daily, [7]],
    ["body.date", session, [7]],
    ["body.head_seq", session, ["x"]],
    ["body.verify_ok", session, [7]],
    ["body.abandoned_seq", session, [0]],
    ["body.abandoned_hash", session, ["x"]],
    ["body.verify_ok", daily, [true, false]],
    ["body.type", session, ["a later type"]],
    ["later", session, [{ any: [1] }]],
  ])("accepts %s of this value", (path, make, values) => {
    for (const value of values) expect([value, findWith(make(), path, value)]).toEqual([value, undefined]);
  });

  it.each([null, 1, "text", true])("finds that %j is not a document", (document) => {
    expect(findMalformedMember(document, head)).toBe("document");
  });
});

describe("isHash", () => {
  it("accepts 64 lower-case hexadecimal characters and nothing else", () => {
    expect(isHash("0123456789abcdef".repeat(4))).toBe(true);
    for (const other of [head.slice(1), `${head}a`, ` ${head}`, `${head}\n`, head.toUpperCase(), `g${head.slice(1)}`]) {
      expect([other, isHash(other)]).toEqual([other, false]);
    }
    for (const other of [undefined, null, 7, [head]]) expect(isHash(other)).toBe(false);
  });
});

describe("dates", () => {
  it("have the days of their months", () => {
    for (const year of [1900, 2000, 2023, 2024, 2100]) {
      for (let month = 1; month <= 12; month++) {
        const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
        const dates = [28, 29, 30, 31].map((day) => `${year}-${String(month).padStart(2, "0")}-${day}`);
        expect(dates.filter(isDate)).toEqual(dates.slice(0, last - 27));
      }
    }
  });

  it.each(["0001-01-01", "2024-02-29", "2000-02-29", "2026-04-30", "2026-12-31", "9999-12-31"])("%s exists", (date) => {
    expect(isDate(date)).toBe(true);
  });

  it.each([
    "0000-01-01",
    "2023-02-29",
    "1900-02-29",
    "2026-04-31",
    "2026-13-01",
    "2026-01-00",
    "2026-01-32",
    "2026-1-01",
    "2026-01-01x",
    "2026-01-01\n",
    ["2026-01-01"] as never,
    7,
    null,
    undefined,
  ])("%j does not exist", (date) => {
    expect(isDate(date)).toBe(false);
  });

  it.each([
    ["2026-01-01T00:00:00.000Z", true],
    ["2026-01-01T23:59:59.999Z", true],
    ["2026-01-01T19:09:09.000Z", true],
    ["0000-01-01T00:00:00.000Z", false],
    ["2026-01-01T24:00:00.000Z", false],
    ["2026-01-01T23:60:00.000Z", false],
    ["2026-01-01T23:59:60.000Z", false],
    ["2026-01-01T23:59:59.99Z", false],
    ["2026-01-01T23:59:59.9999Z", false],
    ["2026-01-01T23:59:59.999z", false],
    ["2026-01-01T23:59:59.999+00:00", false],
    ["2026-01-01 23:59:59.999Z", false],
    ["2026-02-29T00:00:00.000Z", false],
    ["x2026-01-01T00:00:00.000Z", false],
    ["2026-01-01T00:00:00.000Zx", false],
  ])("the time %s is accepted: %s", (ts, isGood) => {
    expect(findWith(session(), "ts", ts)).toBe(isGood ? undefined : "ts");
  });
});
