import fc from "fast-check";

/** Any code point but halves of pairs. The unit "binary" of fast-check is the same, and takes each process a second to build. */
export const anyCharacter = fc
  .nat(0x10ffff - 0x800)
  .map((number) => String.fromCodePoint(number < 0xd800 ? number : number + 0x800));
