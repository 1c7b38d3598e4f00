/*
 * A JSON parser that is stricter and more exact than JSON.parse. It refuses duplicate keys. Numbers keep their digits.
 * Objects are Maps, so no name (`__proto__`) is special. It stops as soon as a text is nested too deeply or has too many
 * values: 256 KiB of brackets, which a few compressed bytes can hold, would otherwise block the event loop for over 100 ms.
 */
import { maxJsonDepth, maxJsonValues } from "../contract/json-limits.ts";

/** How much of a key an error shows. */
const maxShownKey = 64;

/** More digits than the integers of any type have. */
const maxDigits = 40;

/** A number with its digits as they were written, so that its reader can be exact. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /**
   * The value as an integer; undefined if it is not a whole number (1.0 and 1e2 are). Integers beyond every type are not
   * exact: at most 40 digits count, and an exponent adds at most 40 zeros.
   */
  toInteger(): bigint | undefined {
    const [, sign, whole = "", fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(
      this.text,
    ) as RegExpExecArray;
    const digits = whole + fraction;
    let end = digits.length;
    while (end > 0 && digits[end - 1] === "0") end--;
    if (end === 0) return 0n;
    const zeros = Number(exponent) + whole.length - end;
    if (zeros < 0) return undefined;
    // A huge exponent must not become a huge string. The time that BigInt takes grows faster than the number of digits.
    const counted = digits.slice(0, end).replace(/^0+/, "").slice(0, maxDigits);
    const value = BigInt(counted + "0".repeat(Math.min(zeros, maxDigits)));
    return sign === "-" ? -value : value;
  }

  toNumber(): number {
    return Number(this.text);
  }
}

export type JsonObject = Map<string, JsonValue>;
export type JsonValue = null | boolean | string | JsonNumber | JsonValue[] | JsonObject;

/** The text is not valid JSON, or exceeds a limit. The message says why. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";
}

const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 8259 forbids them in strings.
const plainText = /[^"\\\u0000-\u001f]*/y;
const space = /[ \t\n\r]*/y;

/**
 * Parses a JSON text (RFC 8259).
 * @throws JsonSyntaxError, also for a duplicate key in an object, and beyond `maxJsonDepth` or `maxJsonValues`
 */
export function parseJson(text: string): JsonValue {
  return new Parser(text).parse();
}

class Parser {
  readonly #text: string;
  #at = 0;
  #values = 0;

  constructor(text: string) {
    this.#text = text;
  }

  parse(): JsonValue {
    const value = this.#value(0);
    this.#match(space);
    if (this.#at < this.#text.length) this.#fail();
    return value;
  }

  /** @param depth how many containers are around the value */
  #value(depth: number): JsonValue {
    this.#values++;
    if (this.#values > maxJsonValues) throw new JsonSyntaxError(`it holds more than ${maxJsonValues} values`);
    this.#match(space);
    const first = this.#text[this.#at];
    switch (first) {
      case "{":
      case "[":
        if (depth === maxJsonDepth) throw new JsonSyntaxError(`it is nested deeper than ${maxJsonDepth} levels`);
        this.#at++;
        return first === "{" ? this.#object(depth + 1) : this.#array(depth + 1);
      case '"':
        return this.#string();
      case "t":
        return this.#literal("true", true);
      case "f":
        return this.#literal("false", false);
      case "n":
        return this.#literal("null", null);
      default: {
        const digits = this.#match(numberToken);
        if (digits === "") this.#fail();
        return new JsonNumber(digits);
      }
    }
  }

  #object(depth: number): JsonObject {
    const object: JsonObject = new Map();
    if (this.#take("}")) return object;
    do object.set(this.#key(object), this.#value(depth));
    while (this.#take(","));
    if (!this.#take("}")) this.#fail();
    return object;
  }

  #array(depth: number): JsonValue[] {
    const array: JsonValue[] = [];
    if (this.#take("]")) return array;
    do array.push(this.#value(depth));
    while (this.#take(","));
    if (!this.#take("]")) this.#fail();
    return array;
  }

  #key(object: JsonObject): string {
    this.#match(space);
    if (this.#text[this.#at] !== '"') this.#fail();
    const key = this.#string();
    if (object.has(key)) throw new JsonSyntaxError(`the key ${JSON.stringify(key.slice(0, maxShownKey))} comes twice`);
    if (!this.#take(":")) this.#fail();
    return key;
  }

  #string(): string {
    const start = this.#at++;
    let escaped = false;
    for (;;) {
      this.#match(plainText);
      const character = this.#text[this.#at];
      if (character === '"') {
        this.#at++;
        break;
      }
      if (character !== "\\") this.#fail();
      escaped = true;
      this.#at += 2;
    }
    if (!escaped) return this.#text.slice(start + 1, this.#at - 1);
    try {
      return JSON.parse(this.#text.slice(start, this.#at));
    } catch {
      this.#at = start;
      return this.#fail();
    }
  }

  #literal<Value>(text: string, value: Value): Value {
    if (!this.#text.startsWith(text, this.#at)) this.#fail();
    this.#at += text.length;
    return value;
  }

  #take(character: string): boolean {
    this.#match(space);
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const token = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += token.length;
    return token;
  }

  #fail(): never {
    const where = this.#at < this.#text.length ? `it breaks at character ${this.#at + 1}` : "it ends too early";
    throw new JsonSyntaxError(where);
  }
}
