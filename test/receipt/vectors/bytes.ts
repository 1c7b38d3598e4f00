import { buildChain, type Change, otherHash, type Receipt, toVector } from "../chain.ts";
import { changed, noteAs, numberAs, type Vectors, vector } from "./defect.ts";

export function notBytes(): Vectors {
  const clean = buildChain(5);
  /** Five good receipts. One of them is changed after the next one has been linked to it. */
  const altered = (seq: number, fault: string, description: string, alter: (receipt: Receipt) => Partial<Receipt>) =>
    vector(
      seq,
      fault,
      description,
      clean.map((receipt) => toVector(receipt.seq === seq ? { ...receipt, ...alter(receipt) } : receipt)),
    );
  const flipped = ({ bytes }: Receipt, byte: string) => {
    const at = Buffer.from(bytes).indexOf(byte);
    return { bytes: bytes.map((value, index) => (index === at ? value ^ 1 : value)) };
  };
  const inNote = (...values: number[]): Change => ({
    bytes: (bytes) => {
      const at = Buffer.from(bytes).indexOf("market");
      return Buffer.concat([bytes.subarray(0, at), Uint8Array.from(values), bytes.subarray(at + 6)]);
    },
  });
  return {
    "flipped-bit": altered(4, "wrong_hash", "One bit of a letter in the note is flipped.", (r) => flipped(r, "market")),
    "flipped-bit-in-structure": altered(4, "wrong_hash", "One bit of the first brace; it is no JSON any more.", (r) =>
      flipped(r, "{"),
    ),
    "flipped-bit-in-first-receipt": altered(1, "wrong_hash", "One bit of the genesis.", (r) => flipped(r, "first")),
    "recorded-seq-above": altered(4, "gap", "The seq beside the bytes is 5, in the document it is 4.", () => ({
      seq: 5,
    })),
    "recorded-seq-below": altered(4, "repeat", "The seq beside the bytes is 3, in the document it is 4.", () => ({
      seq: 3,
    })),
    "recorded-hash-differs": altered(4, "wrong_hash", "The hash beside the bytes is another.", () => ({
      hash: otherHash,
    })),
    "recorded-hash-in-upper-case": altered(4, "wrong_hash", "Hashes are written in lower case.", ({ hash }) => ({
      hash: hash.toUpperCase(),
    })),
    "recorded-prev-hash-differs": altered(4, "wrong_prev_hash", "The prev_hash beside the bytes is another.", () => ({
      prevHash: otherHash,
    })),
    "invalid-utf8": changed(4, "not_utf8", "A byte that UTF-8 never has.", inNote(0xff)),
    "invalid-utf8-overlong": changed(4, "not_utf8", "A slash in two bytes.", inNote(0xc0, 0xaf)),
    "invalid-utf8-surrogate": changed(4, "not_utf8", "The encoding of a lone surrogate.", inNote(0xed, 0xa0, 0x80)),
    "invalid-utf8-beyond-unicode": changed(4, "not_utf8", "A code point above 10FFFF.", inNote(0xf4, 0x90, 0x80, 0x80)),
    "invalid-utf8-cut-off": changed(4, "not_utf8", "The last byte begins a character.", {
      bytes: (bytes) => Buffer.concat([bytes, Uint8Array.of(0xe2)]),
    }),
    "invalid-utf16": changed(4, "not_utf8", "The text as UTF-16.", {
      bytes: (bytes) => Buffer.from(`\ufeff${Buffer.from(bytes)}`, "utf16le"),
    }),
  };
}

export function notJson(): Vectors {
  const whole = (description: string, text: (text: string) => string) => changed(4, "not_json", description, { text });
  return {
    "byte-order-mark": whole("A byte order mark before the text.", (text) => `\ufeff${text}`),
    "no-bytes": whole("Nothing at all.", () => ""),
    "truncated-bytes": whole("The last 20 bytes are missing.", (text) => text.slice(0, -20)),
    "two-texts": whole("The document twice.", (text) => text + text),
    "not-json": whole("Prose.", () => "The market closed in order."),
    "not-json-nan": numberAs("not_json", "NaN is no number of JSON.", "NaN"),
    "not-json-infinity": numberAs("not_json", "Nor is Infinity.", "-Infinity"),
    "not-json-leading-zero": numberAs("not_json", "A number with a leading zero.", "01204"),
    "not-json-plus-sign": numberAs("not_json", "A number with a plus sign.", "+1204"),
    "not-json-bare-point": numberAs("not_json", "A number that ends with its point.", "1204."),
    "not-json-hexadecimal": numberAs("not_json", "A number in hexadecimal.", "0x4b4"),
    "not-json-other-digits": numberAs("not_json", "A number in Arabic-Indic digits.", "١٢٠٤"),
    "not-json-trailing-comma": numberAs("not_json", "A comma before the end of an object.", "1204,"),
    "not-json-comment": numberAs("not_json", "A comment.", "1204/**/"),
    "not-json-single-quotes": noteAs("not_json", "A string in single quotes.", "'The market closed in order.'"),
    "not-json-raw-line-feed": noteAs("not_json", "A line feed that is not escaped.", '"The market\nclosed."'),
    "not-json-unknown-escape": noteAs("not_json", "An escape that JSON does not have.", String.raw`"The \x6darket"`),
    "not-json-no-break-space": noteAs("not_json", "White space that JSON does not have.", '\u00a0"The market"'),
  };
}
