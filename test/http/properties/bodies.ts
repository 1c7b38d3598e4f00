import type { DescField } from "@bufbuild/protobuf";
import fc, { type Arbitrary } from "fast-check";
import { jsonOf, type Known } from "./values.ts";

/** Once in a while a value, mostly none. */
export const rarely = <T>(arbitrary: Arbitrary<T>) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** JSON texts for fields of a message, whole and broken, as the Latin-1 of their bytes. */
export function jsonBodies(fields: readonly DescField[], known: Known): Arbitrary<string> {
  const members = fc.tuple(
    ...fields.map((field) =>
      fc.option(
        jsonOf(field, known).map((json) => `${JSON.stringify(field.name)}:${json}`),
        { nil: undefined, freq: 7 },
      ),
    ),
  );
  const more = fc.constantFrom('"extra":1', '"__proto__":{}', '"ok":false', '"title":"again"', '"\\u0000":0', "");
  const object = fc.tuple(members, rarely(more)).map(([each, extra]) => {
    return Buffer.from(`{${[...each, extra].filter((member) => member !== undefined).join(",")}}`).toString("latin1");
  });
  const broken = fc.tuple(
    object,
    fc.nat(),
    fc.constantFrom("", "\u0000", "\xff", "\xed\xa0\x80", "}", ",", '"', "\xef\xbb\xbf"),
  );
  return fc.oneof(
    { weight: 12, arbitrary: object },
    {
      weight: 2,
      arbitrary: broken.map(([text, at, put]) => {
        const n = at % (text.length + 1);
        return text.slice(0, n) + put + text.slice(n);
      }),
    },
    { weight: 1, arbitrary: broken.map(([text, at]) => text.slice(0, at % (text.length + 1))) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        "",
        "null",
        "[]",
        '"text"',
        "\xef\xbb\xbf{}",
        " {} ",
        "{}{}",
        `"${"x".repeat(270_000)}"`,
      ),
    },
  );
}
