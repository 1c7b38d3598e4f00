// Small changes of hostile senders, for property tests.
import fc from "fast-check";

/** Bytes with a change: other bytes, fewer or more of them. */
export const changedBytes = (bytes: Uint8Array): fc.Arbitrary<Uint8Array> => {
  const at = fc.nat(bytes.length);
  const some = fc.uint8Array({ minLength: 1, maxLength: 4 });
  return fc
    .oneof(
      fc
        .tuple(at, fc.integer({ min: 1, max: 255 }))
        .map(([at, mask]) => bytes.map((b, i) => (i === at ? b ^ mask : b))),
      fc.tuple(at, some).map(([at, more]) => join(bytes.subarray(0, at), more, bytes.subarray(at))),
      fc.tuple(at, at).map(([one, other]) => bytes.slice(Math.min(one, other), Math.max(one, other))),
      fc.tuple(at, at).map(([one, other]) => join(bytes.subarray(0, one), bytes.subarray(other))),
      fc.tuple(at, some).map(([at, other]) => join(bytes.subarray(0, at), other, bytes.subarray(at + other.length))),
    )
    .filter((changed) => Buffer.compare(changed, bytes) !== 0);
};

/** A text with a change that such formats are sensitive to: a line or a character moved, repeated, left out or replaced. */
export const changedText = (text: string): fc.Arbitrary<string> => {
  const lines = text.split("\n");
  const at = fc.nat(lines.length - 1);
  const place = fc.nat(text.length);
  const piece = fc.constantFrom(
    "\n",
    "\n\n",
    " ",
    "\t",
    "\r",
    "\u0000",
    "—",
    "— ",
    "=",
    "+",
    "0",
    "-",
    "A",
    "\u00a0",
    "é",
    "\ufeff",
  );
  return fc
    .oneof(
      at.map((at) => lines.toSpliced(at, 1).join("\n")),
      at.map((at) => lines.toSpliced(at, 0, lines[at] as string).join("\n")),
      fc.tuple(at, at).map(([one, other]) => {
        const moved = lines.toSpliced(one, 1);
        return moved.toSpliced(other, 0, lines[one] as string).join("\n");
      }),
      fc.tuple(place, piece).map(([at, piece]) => text.slice(0, at) + piece + text.slice(at)),
      fc.tuple(place, piece).map(([at, piece]) => text.slice(0, at) + piece + text.slice(at + 1)),
      place.map((at) => text.slice(0, at) + text.slice(at + 1)),
      place.map((at) => text.slice(0, at)),
    )
    .filter((changed) => changed !== text);
};

function join(...parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
