import { describe, expect, it } from "vitest";
import { decodeCursor, encodeCursor } from "../../src/board/cursors.ts";

const textOf = (json: string) => Buffer.from(json).toString("base64url");

describe("a cursor", () => {
  it.each([[["posts:new", 17, null]], [[]], [["ä", "", -1.5]]])("comes back as it was: %j", (cursor) => {
    expect(decodeCursor(encodeCursor(cursor))).toEqual(cursor);
  });

  it("fits into a URL", () => {
    expect(encodeCursor(["a?>~", 1, null])).toBe("WyJhPz5-IiwxLG51bGxd");
  });

  it.each([
    ["an empty text", ""],
    ["no JSON", textOf("[1")],
    ["no array", textOf('{"0":1}')],
    ["a number", textOf("1")],
    ["null", textOf("null")],
    ["a boolean among its values", textOf('["a",true]')],
    ["an object among its values", textOf('[{},"a"]')],
    ["an array among its values", textOf("[[1]]")],
    ["white space in its JSON", textOf("[1, 2]")],
    ["another form of a number", textOf("[1.0]")],
    ["padding", `${encodeCursor([1])}=`],
    ["characters that base64url ignores", ` ${encodeCursor([1, 2])}`],
    ["the other base64", Buffer.from('["a?>~"]').toString("base64")],
  ])("is refused if it has %s", (_fault, text) => {
    expect(() => decodeCursor(text)).toThrow(
      expect.objectContaining({
        code: "bad_input",
        field: "cursor",
        message: "This is not a cursor from a page.",
      }),
    );
  });
});
