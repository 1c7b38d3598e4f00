import { changed, evidenceAs, noteAs, numberAs, rewritten, type Vectors } from "./defect.ts";

export function notCanonical(): Vectors {
  const fault = "not_canonical";
  const whole = (description: string, text: (text: string) => string) => changed(4, fault, description, { text });
  const nested = (levels: number, inner = "") => `"bushels":${"[".repeat(levels)}${inner}${"]".repeat(levels)}`;
  return {
    "white-space-inside": rewritten(fault, "A space after a colon.", '"seq":4', '"seq": 4'),
    "white-space-leading": whole("A space before the text.", (text) => ` ${text}`),
    "white-space-trailing-newline": whole("A line feed after the text.", (text) => `${text}\n`),
    "reordered-keys": whole("The first member comes last.", (text) => {
      const { actor, ...others } = JSON.parse(text);
      return JSON.stringify({ ...others, actor });
    }),
    "reordered-keys-inside": rewritten(
      fault,
      "Two members of actor change places.",
      /"actor":\{.*?\}/,
      '"actor":{"seat":"desk","agent":"operator"}',
    ),
    "keys-sorted-by-code-point": evidenceAs(
      fault,
      "U+1F600 is D83D DE00 in UTF-16, and so comes before U+FB33.",
      '"\ufb33":1,"\u{1f600}":2',
    ),
    "keys-sorted-as-numbers": evidenceAs(fault, "10 comes before 2.", '"2":1,"10":2'),
    "keys-sorted-without-case": evidenceAs(fault, "B comes before a.", '"a":1,"B":2'),
    "duplicate-key": evidenceAs(fault, "A member twice, with one value.", '"bushels":1204,"bushels":1204'),
    "duplicate-key-with-another-value": rewritten(
      fault,
      "Two values of seq; parsers take one or the other.",
      '"seq":4',
      '"seq":5,"seq":4',
    ),
    "duplicate-key-proto": evidenceAs(fault, "__proto__ twice.", '"__proto__":{},"__proto__":{}'),
    "integer-as-float": rewritten(fault, "1.0 is written 1.", '"city_day":2', '"city_day":2.0'),
    "integer-with-exponent": numberAs(fault, "1e2 is written 100.", "1e2"),
    "negative-zero": numberAs(fault, "-0 is written 0.", "-0"),
    "number-too-large": numberAs(fault, "1E400 is no double; it has no canonical form.", "1E400"),
    "integer-too-large": numberAs(fault, "A thousand digits make no double.", "1".repeat(1000)),
    "integer-beyond-doubles": numberAs(
      fault,
      "2^53 + 1 is no double; the nearest is another number.",
      "9007199254740993",
    ),
    "number-with-too-many-digits": numberAs(
      fault,
      "0.1 is the shortest text of this double.",
      "0.1000000000000000055511151231257827",
    ),
    "number-with-trailing-zero": numberAs(fault, "0.10 is written 0.1.", "0.10"),
    "number-with-exponent-too-early": numberAs(fault, "1e20 is written in full.", "1e+20"),
    "number-with-exponent-too-late": numberAs(fault, "1e+21 is not.", "1000000000000000000000"),
    "number-with-bare-exponent": numberAs(fault, "1e21 has a plus sign.", "1e21"),
    "number-with-capital-exponent": numberAs(fault, "The e is small.", "1E+21"),
    "number-with-padded-exponent": numberAs(fault, "1e-07 is written 1e-7.", "1e-07"),
    "number-small-in-full": numberAs(fault, "0.0000001 is written 1e-7.", "0.0000001"),
    "escape-of-letter": noteAs(fault, "A letter that is escaped.", String.raw`"\u0041 market"`),
    "escape-of-slash": noteAs(fault, "A slash that is escaped.", String.raw`"to \/ from"`),
    "escape-in-name": evidenceAs(fault, "A name that is escaped.", String.raw`"\u0062ushels":1204`),
    "escape-in-capitals": noteAs(fault, "Escapes are written in lower case.", String.raw`"\u001F"`),
    "escape-of-line-feed-by-number": noteAs(fault, "A line feed has an escape of its own.", String.raw`"\u000a"`),
    "escape-of-delete": noteAs(fault, "U+007F is not escaped.", String.raw`"\u007f"`),
    "escape-of-line-separator": noteAs(fault, "U+2028 is not escaped.", String.raw`"\u2028"`),
    "escape-of-astral": noteAs(fault, "A pair of surrogates is written as the character.", String.raw`"\ud83d\ude00"`),
    "lone-surrogate": noteAs(fault, "Half a character, escaped, has no UTF-8.", String.raw`"\ud83d"`),
    "lone-surrogate-low": noteAs(fault, "The other half.", String.raw`"\ude00 market"`),
    "lone-surrogates-reversed": noteAs(fault, "Both, in the wrong order.", String.raw`"\ude00\ud83d"`),
    "lone-surrogate-in-name": evidenceAs(fault, "Half a character in a name.", String.raw`"\udfff":1`),
    "nested-too-deep": evidenceAs(fault, "An array at level 201.", nested(200)),
    "nested-too-deep-by-a-number": evidenceAs(fault, "A number at level 201.", nested(199, "7")),
    "nested-far-too-deep": evidenceAs(fault, "More levels than many a stack holds.", nested(5000)),
  };
}
