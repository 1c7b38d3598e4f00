// Arbitrary JSON values for property tests of canonical text.
import fc from "fast-check";
import type { Json } from "../../src/receipt/canonical.ts";
import { anyCharacter } from "../support/any-character.ts";

const names = fc.oneof(
  fc.string({ unit: anyCharacter }),
  // Names with common beginnings, whose order by code points differs from their order by UTF-16 code units.
  fc.string({
    unit: fc.constantFrom("a", "B", "1", "\u00e9", "\ud7ff", "\ue000", "\ufb33", "\uffff", "\u{10000}", "\u{1f600}"),
  }),
  fc.constantFrom("__proto__", "constructor", "toString", "10", "9", ""),
);
export const values = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.string({ unit: anyCharacter }),
    fc.string({ unit: fc.nat(0x9f).map((code) => String.fromCharCode(code)) }),
    fc.array(tie("value"), { maxLength: 5 }),
    fc.array(fc.tuple(names, tie("value")), { maxLength: 6 }).map((members) => Object.fromEntries(members)),
  ),
})).value;

/** A value that is nested `levels` times. */
export function nested(levels: number, innermost: Json): Json {
  let value = innermost;
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}
