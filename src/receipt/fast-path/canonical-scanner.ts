/** The deepest nesting that is scanned, far below the depth that has no canonical form. */
const maxLevels = 16;
/** A double represents every integer with this many digits exactly. */
const maxDigits = 15;

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const zero = 0x30;
const colon = 0x3a;
const backslash = 0x5c;
const openingBracket = 0x5b;
const closingBracket = 0x5d;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A fixed text of at least four bytes, in a form that is compared four bytes at a time. */
export class Literal {
  readonly length: number;
  readonly words: Uint32Array;
  /** The last four bytes, which `words` may not cover. */
  readonly lastWord: number;

  constructor(text: string) {
    const bytes = new TextEncoder().encode(text);
    const view = new DataView(bytes.buffer);
    this.length = bytes.length;
    this.words = Uint32Array.from({ length: bytes.length >> 2 }, (_, index) => view.getUint32(4 * index));
    this.lastWord = view.getUint32(bytes.length - 4);
  }
}

const literalTrue = new Literal("true");
const literalFalse = new Literal("false");
const literalNull = new Literal("null");

/**
 * Scans a subset of canonical JSON: no escapes, no numbers except integers of up to 15 digits, no deep nesting. Text
 * that this scanner accepts is canonical. Text that it does not accept may still be canonical. It creates no values,
 * and so takes a fraction of the time of JSON.parse.
 *
 * Each method scans what its name says and returns whether it was there. After a method has returned false, the
 * position is undefined. Bytes from 0x80 on are not checked until `isUtf8` is called.
 */
export class CanonicalScanner {
  /** The index of the next byte. */
  at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #begin = 0;
  #end: number;
  /** Whether all strings so far have ASCII characters only. */
  #isAscii = true;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#end = bytes.length;
  }

  /** Starts again with the bytes from `begin` to before `end`. */
  moveTo(begin: number, end: number): void {
    this.at = begin;
    this.#begin = begin;
    this.#end = end;
    this.#isAscii = true;
  }

  get isAtEnd(): boolean {
    return this.at === this.#end;
  }

  /** The text from `begin` to the current position. @throws TypeError when it is not UTF-8 */
  textFrom(begin: number): string {
    return utf8.decode(this.#bytes.subarray(begin, this.at));
  }

  /** Whether the bytes that were scanned are UTF-8. */
  isUtf8(): boolean {
    if (this.#isAscii) return true;
    try {
      this.textFrom(this.#begin);
      return true;
    } catch {
      return false;
    }
  }

  /** Scans the byte if it is the next one; otherwise the position stays. */
  byte(byte: number): boolean {
    if (this.at >= this.#end || this.#bytes[this.at] !== byte) return false;
    this.at += 1;
    return true;
  }

  literal({ length, words, lastWord }: Literal): boolean {
    const begin = this.at;
    const end = begin + length;
    if (end > this.#end) return false;
    const view = this.#view;
    for (let index = 0; index < words.length; index++) {
      if (view.getUint32(begin + 4 * index) !== words[index]) return false;
    }
    this.at = end;
    return this.#view.getUint32(end - 4) === lastWord;
  }

  /** Scans exactly this text, which is ASCII. */
  ascii(text: string): boolean {
    const begin = this.at;
    this.at += text.length;
    if (this.at > this.#end) return false;
    const bytes = this.#bytes;
    for (let index = 0; index < text.length; index++) {
      if (bytes[begin + index] !== text.charCodeAt(index)) return false;
    }
    return true;
  }

  string(): boolean {
    if (!this.byte(quote)) return false;
    const bytes = this.#bytes;
    const end = this.#end;
    for (let at = this.at; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === quote) {
        this.at = at + 1;
        return true;
      }
      if (byte < 0x20 || byte === backslash) return false;
      if (byte >= 0x80) this.#isAscii = false;
    }
    return false;
  }

  stringOrNull(): boolean {
    return this.#bytes[this.at] === quote ? this.string() : this.literal(literalNull);
  }

  /** Scans an integer that is not negative. @returns its value; -1 if there is none */
  count(): number {
    const begin = this.at;
    let value = 0;
    let at = begin;
    for (; at < this.#end; at++) {
      const digit = (this.#bytes[at] as number) - zero;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    const digits = at - begin;
    this.at = at;
    return digits === 0 || digits > maxDigits || (digits > 1 && this.#bytes[begin] === zero) ? -1 : value;
  }

  /** Scans this many digits. @returns their value; -1 if there are other characters */
  digits(count: number): number {
    const end = this.at + count;
    let value = 0;
    for (; this.at < end; this.at++) {
      const digit = (this.#bytes[this.at] as number) - zero;
      if (!(digit >= 0 && digit <= 9)) return -1;
      value = value * 10 + digit;
    }
    return end <= this.#end ? value : -1;
  }

  object(): boolean {
    return this.#bytes[this.at] === openingBrace && this.value();
  }

  value(levels = maxLevels): boolean {
    switch (this.#bytes[this.at]) {
      case quote:
        return this.string();
      case openingBrace:
        return levels > 0 && this.#members(levels - 1);
      case openingBracket:
        return levels > 0 && this.#elements(levels - 1);
      case 0x74: // t
        return this.literal(literalTrue);
      case 0x66: // f
        return this.literal(literalFalse);
      case 0x6e: // n
        return this.literal(literalNull);
      case minus:
        this.at += 1;
        return this.count() > 0; // -0 is not canonical: it is written 0
      default:
        return this.count() !== -1;
    }
  }

  #elements(levels: number): boolean {
    this.at += 1;
    if (this.byte(closingBracket)) return true;
    do if (!this.value(levels)) return false;
    while (this.byte(comma));
    return this.byte(closingBracket);
  }

  #members(levels: number): boolean {
    this.at += 1;
    if (this.byte(closingBrace)) return true;
    let previous = -1;
    do {
      const name = this.at + 1;
      if (!this.string() || (previous !== -1 && !this.#isInOrder(previous, name))) return false;
      previous = name;
      if (!this.byte(colon) || !this.value(levels)) return false;
    } while (this.byte(comma));
    return this.byte(closingBrace);
  }

  /**
   * Whether the name at `first` sorts before the name at `second`. Both end with a quote, which no name contains here.
   */
  #isInOrder(first: number, second: number): boolean {
    for (let index = 0; ; index++) {
      const a = this.#bytes[first + index] as number;
      const b = this.#bytes[second + index] as number;
      // Characters that begin with 0xee or 0xef sort before those above U+FFFF in UTF-8, but after them in UTF-16.
      if (a !== b) return Math.max(a, b) < 0xee && (a === quote || (b !== quote && a < b));
      if (a === quote) return false;
    }
  }
}
