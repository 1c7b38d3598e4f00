// Which member of a document is named as malformed. What is good and bad about each, the vectors say.
import { expect, it } from "vitest";
import type { Json } from "../../src/receipt/canonical.ts";
import { findMalformedMember } from "../../src/receipt/document.ts";
import { documentAt, otherHash } from "./chain.ts";

const head = "a".repeat(64);
const session = () => documentAt(2, head);
const daily = () => documentAt(3, head);
const recovery = () => {
  const { count, head } = session().body;
  const body = { type: "recovery", count, head, abandoned_seq: 1, abandoned_hash: otherHash, note: "" };
  return { ...session(), body };
};

/** The path of a malformed member after the member at `path` was set to `value`, or removed. */
function findWith(document: Record<string, Json>, path: string, value?: Json): string | undefined {
  const names = path.split(".");
  const last = names.pop() as string;
  let target = document;
  for (const name of names) target = target[name] as Record<string, Json>;
  if (value === undefined) delete target[last];
  else target[last] = value;
  return findMalformedMember(document, head);
}

it.each<[() => Record<string, Json>, string[]]>([
  [session, ["v", "seq", "kind", "ts", "city_day", "book", "actor", "actor.agent", "actor.seat", "prev_hash", "refs"]],
  [session, ["evidence", "body", "body.type", "body.count", "body.head", "body.note", "body.session"]],
  [daily, ["body.date", "body.head_seq", "body.verify_ok"]],
  [recovery, ["body.note", "body.abandoned_seq", "body.abandoned_hash"]],
])("a member that is missing or of another type is named: %#", (make, paths) => {
  expect(findMalformedMember(make(), head)).toBeUndefined();
  // The known hash only saves a check.
  expect(findMalformedMember(make(), otherHash)).toBeUndefined();
  for (const path of paths) {
    const wrong = path === "body.verify_ok" ? "true" : true;
    expect([path, findWith(make(), path), findWith(make(), path, wrong)]).toEqual([path, path, path]);
  }
});

it.each<[string, () => Record<string, Json>, Json]>([
  ["seq", session, 2 ** 53 - 1],
  ["book", session, ""],
  ["prev_hash", session, otherHash],
  ["body.head", session, otherHash],
  ["body.count", session, 0],
  ["body.date", session, 7],
  ["body.verify_ok", session, 7],
  ["body.abandoned_hash", session, "x"],
  ["body.note", daily, 7],
  ["body.session", daily, 7],
  ["body.verify_ok", daily, false],
])("a document may have this %s: other rules decide, or it is a member of another type", (path, make, value) => {
  expect(findWith(make(), path, value)).toBeUndefined();
});
