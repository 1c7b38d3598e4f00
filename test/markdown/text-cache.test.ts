import { describe, expect, it } from "vitest";
import { TextCache } from "../../src/markdown/text-cache.ts";

/** Gets texts from a cache, one after the other. @returns those whose values were made */
function madeOf(maxLength: number, texts: readonly string[]): string[] {
  const cache = new TextCache<string>(maxLength);
  const made: string[] = [];
  for (const text of texts) {
    const value = cache.get(text, () => {
      made.push(text);
      return text.toUpperCase();
    });
    expect(value).toBe(text.toUpperCase());
  }
  return made;
}

describe("a cache of values of texts", () => {
  it("removes the least recently used value first", () => {
    expect(madeOf(20, ["a1234", "b1234", "a1234", "c1234", "a1234", "b1234"])).toEqual([
      "a1234",
      "b1234",
      "c1234",
      "b1234",
    ]);
  });

  it("keeps as many values as fit, with their texts, and no more", () => {
    const texts = ["ab", "cd", "ab", "cd"];
    expect(madeOf(8, texts)).toEqual(["ab", "cd"]);
    expect(madeOf(7, texts)).toEqual(texts);
  });

  it("keeps the same number of values after it has removed many", () => {
    const many = Array.from({ length: 50 }, (_, index) => `${index + 10}`);
    expect(madeOf(8, [...many, "58", "59", "57"])).toEqual([...many, "57"]);
  });

  it("removes as many values as a long one needs", () => {
    expect(madeOf(12, ["a", "b", "c", "long1", "c", "b"])).toEqual(["a", "b", "c", "long1", "b"]);
  });

  it("returns a value that it cannot keep", () => {
    expect(madeOf(3, ["ab", "ab"])).toEqual(["ab", "ab"]);
  });

  it("counts the length of the value, which may differ from that of its text", () => {
    const cache = new TextCache<string>(11);
    let made = 0;
    const get = (text: string, length: number) =>
      cache.get(text, () => {
        made++;
        return "v".repeat(length);
      });
    get("a", 8);
    get("b", 0);
    expect(get("a", 8)).toBe("vvvvvvvv");
    expect(made).toBe(2);
    get("c", 1);
    get("a", 8);
    expect(made).toBe(3);
    get("b", 0);
    expect(made).toBe(4);
  });
});
