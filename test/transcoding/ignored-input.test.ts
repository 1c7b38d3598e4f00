import type { DescMessage } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { CreatePostRequestSchema, ListPostsRequestSchema } from "../../gen/stoa/v1/post_service_pb.js";
import type { Binding } from "../../src/contract/bindings.ts";
import { addUnknownMembers, IgnoredInput } from "../../src/transcoding/ignored-input.ts";
import type { Input } from "../../src/transcoding/input.ts";
import { parseJson } from "../../src/transcoding/json.ts";
import { readRequest, splitTarget } from "../../src/transcoding/request.ts";
import { fixtureBinding, fixtureMessage } from "../support/fixture.ts";

const list = fixtureBinding("GET", "/v1/things");
const get = fixtureBinding("GET", "/v1/things/{name}");
const create = fixtureBinding("POST", "/v1/things/{name}");
const putTags = fixtureBinding("PUT", "/v1/things/{name}/tags");
const postAuthor = fixtureBinding("POST", "/v1/books/{book.name}/authors/{book.author.name}");
const getBook = fixtureBinding("GET", "/v1/books/{book.name}");

const unknown = (name: string) => `"${name}" is not a member of this request.`;

/** Reads a request as a server would, and returns its warnings. */
function warningsOf(binding: Binding, target: string, body?: string | Buffer): readonly string[] {
  const { path, query } = splitTarget(target);
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return readRequest(binding, { captured: binding.path.match(path) as never, query, body: bytes }).warnings;
}

describe("the warnings of a request", () => {
  it.each<[what: string, binding: Binding, target: string, body: string | undefined]>([
    [
      "known members",
      create,
      "/v1/things/a",
      '{"note":"x","number":1,"book":{"title":"y"},"extra":{"any":1},"flag":null}',
    ],
    ["known parameters", list, "/v1/things?note=x&book.author.age=1&&tags=a&tags=b", undefined],
    ["an empty body that is not read", getBook, "/v1/books/a", "{}"],
    ["a body that is not read and is no object", getBook, "/v1/books/a", "[1]"],
    ["a body that is not read and no JSON", getBook, "/v1/books/a", "garbage"],
  ])("none for %s", (_what, binding, target, body) => {
    expect(warningsOf(binding, target, body)).toEqual([]);
  });

  it("for members that do not exist, at any depth, in their order", () => {
    const body = '{"zzz":1,"book":{"zz":1,"author":{"zzz":null}},"books":[{},{"zzzz":{}}],"labels":{"a":"b"}}';
    expect(warningsOf(create, "/v1/things/a", body)).toEqual(
      ["book.author.zzz", "book.zz", "books[1].zzzz", "zzz"].map(unknown),
    );
  });

  it.each([
    ["noet", "note"],
    ["Note", "note"],
    ["notes", "note"],
    ["numbr", "number"],
    ["nmuber", "number"],
    ["a-number", "number"],
  ])("that name the member whose name is nearly %s", (name, meant) => {
    const expected = `"${name}" is not a member of this request; did you mean "${meant}"?`;
    expect(warningsOf(create, "/v1/things/a", JSON.stringify({ [name]: 1 }))).toEqual([expected]);
  });

  it.each(["t", "xyz", "nt", "numerals", "__proto__", "toString"])("that name nothing for %s", (name) => {
    expect(warningsOf(create, "/v1/things/a", `{${JSON.stringify(name)}:1}`)).toEqual([unknown(name)]);
  });

  it("that name the parameter, and not a member that no parameter sets", () => {
    expect(warningsOf(list, "/v1/things?noet=1&boks=1&%zz=1")).toEqual([
      '"noet" is not a parameter of this request; did you mean "note"?',
      '"boks" is not a parameter of this request.',
    ]);
  });

  it("for what is in the wrong place", () => {
    expect(warningsOf(create, "/v1/things/a?number=1&x=1", '{"name":"b"}')).toEqual([
      '"name" is given by the path.',
      '"number" belongs in the body, not in the query.',
      '"x" is not a parameter of this request.',
    ]);
    expect(warningsOf(get, "/v1/things/a?name=b")).toEqual(['"name" is given by the path.']);
    expect(warningsOf(get, "/v1/things/a", '{"note":1,"name":"b","noet":1}')).toEqual([
      '"note" belongs in the query, not in the body.',
      '"name" is given by the path.',
      '"noet" is not a member of this request; did you mean "note"?',
    ]);
  });

  it("for parameters beside a body that is one field", () => {
    expect(warningsOf(putTags, "/v1/things/a/tags?tags=b&book=1&note=x", "[]")).toEqual([
      '"tags" belongs in the body, not in the query.',
      '"book" is not a parameter of this request.',
    ]);
  });

  it("none for an object in the body that the path adds to", () => {
    expect(warningsOf(postAuthor, "/v1/books/b/authors/c", '{"book":{"name":"x","author":{}}}')).toEqual([]);
  });

  it("that do not mean what the path gives", () => {
    expect(warningsOf(create, "/v1/things/a", '{"nmae":1}')).toEqual([unknown("nmae")]);
  });

  it("are at most 8, each once, and their names have at most 64 characters", () => {
    const many = Array.from({ length: 4_900 }, (_, index) => [`z${index}`, [{}]]);
    expect(warningsOf(create, "/v1/things/a", JSON.stringify(Object.fromEntries(many)))).toHaveLength(8);
    const books = JSON.stringify({ books: Array.from({ length: 3_000 }, () => ({ zzz: 1 })) });
    expect(warningsOf(create, "/v1/things/a", books)).toHaveLength(8);
    const query = many.map(([name]) => name).join("&");
    expect(warningsOf(list, `/v1/things?${query}`)).toHaveLength(8);
    expect(warningsOf(list, "/v1/things?zzz=1&zzz=2")).toHaveLength(1);
    const [warning] = warningsOf(create, "/v1/things/a", JSON.stringify({ ["\u{1f600}".repeat(60_000)]: 1 }));
    expect(warning).toBe(unknown("\u{1f600}".repeat(64)));
    const [quoted] = warningsOf(create, "/v1/things/a", '{"a\\"\\n\\ud800":1}');
    expect(quoted).toBe('"a\\"\\n\\ud800" is not a member of this request.');
  });
});

describe("the unknown members of an input", () => {
  const Thing = fixtureMessage("Thing");

  function warningsFor(desc: DescMessage, json: string): string[] {
    const ignored = new IgnoredInput();
    addUnknownMembers(ignored, desc, parseJson(json) as Input);
    return ignored.warnings;
  }
  /** The name that is suggested for another one. */
  function meantBy(desc: DescMessage, name: string): string | undefined {
    const [warning = "", ...others] = warningsFor(desc, `{${JSON.stringify(name)}:1}`);
    expect(others).toEqual([]);
    expect(warning).toContain(" is not a member of this request");
    return /; did you mean "(.*)"\?$/.exec(warning)?.[1];
  }

  it.each([
    ["in maps", "Maps", '{"by_string":{"a":{"z":1},"b":{"name":"x"}}}', "by_string.a.z"],
    ["in lists", "Node", '{"children":[{"name":"x"},{"z":1}]}', "children[1].z"],
    ["in messages in maps of messages", "Node", '{"named":{"k":{"child":{"z":1}}}}', "named.k.child.z"],
    ["if there are as many members as fields", "Thing", '{"book":{"author":{"name":"x","z":1}}}', "book.author.z"],
    ["beside members that are null", "Node", '{"child":null,"children":null,"named":null,"z":1}', "z"],
    ["beside messages without members", "Node", '{"child":{},"weight":1,"z":1}', "z"],
  ])("are found %s", (_, message, json, name) => {
    expect(warningsFor(fixtureMessage(message), json)).toEqual([unknown(name)]);
  });

  it("are not looked for in objects that are free", () => {
    const json =
      '{"struct":{"z":1},"structs":[{"z":1}],"named_structs":{"a":{"z":1}},"value":{"z":1},"values":[{"z":1}]}';
    expect(warningsFor(fixtureMessage("WellKnown"), json)).toEqual([]);
    expect(warningsFor(fixtureMessage("Maps"), '{"counts":{"z":1},"by_bool":{"true":"x"}}')).toEqual([]);
  });

  it("are no longer looked for when there are 8 warnings", () => {
    const ignored = new IgnoredInput();
    for (let index = 0; index < 7; index++) ignored.misplaced(`m${index}`, "is elsewhere.");
    expect(ignored.isFull).toBe(false);
    addUnknownMembers(
      ignored,
      Thing,
      parseJson('{"books":[{"a":1},{"b":1}],"c":1}') as Input,
      "an argument of this tool",
    );
    expect(ignored.isFull).toBe(true);
    expect(ignored.warnings).toHaveLength(8);
    expect(ignored.warnings[7]).toBe('"books[0].a" is not an argument of this tool.');
    ignored.misplaced("m8", "is elsewhere.");
    ignored.unknown("m9", "an argument of this tool", []);
    expect(ignored.warnings).toHaveLength(8);
  });

  it("are shown with 64 characters at most", () => {
    for (const length of [63, 64, 65, 128, 129]) {
      const ignored = new IgnoredInput();
      ignored.unknown("z".repeat(length), "an argument of this tool", []);
      expect(ignored.warnings).toEqual([`"${"z".repeat(Math.min(64, length))}" is not an argument of this tool.`]);
    }
  });

  it("are each told once", () => {
    const ignored = new IgnoredInput();
    for (let count = 0; count < 2; count++) ignored.misplaced("m", "is elsewhere.");
    expect(ignored.warnings).toEqual(['"m" is elsewhere.']);
  });

  it("mean no field that has its value from elsewhere", () => {
    const ignored = new IgnoredInput();
    addUnknownMembers(ignored, Thing, parseJson('{"nmae":1,"noet":1}') as Input, undefined, ["name"]);
    expect(ignored.warnings).toEqual([unknown("nmae"), `${unknown("noet").slice(0, -1)}; did you mean "note"?`]);
  });

  it.each([
    ["content", CreatePostRequestSchema, "body"],
    ["Self-Text", CreatePostRequestSchema, "body"],
    ["headline", CreatePostRequestSchema, "title"],
    ["sub_reddit", CreatePostRequestSchema, "community"],
    ["pageSize", ListPostsRequestSchema, "limit"],
    ["PER-PAGE", ListPostsRequestSchema, "limit"],
    ["filter.order_by", ListPostsRequestSchema, "sort"],
    ["page size", ListPostsRequestSchema, undefined],
  ])("mean what the contract says is called %s, too", (name, desc, meant) => {
    expect(meantBy(desc, name)).toBe(meant);
  });

  it.each([
    ["a character less at the beginning", "umber", "number"],
    ["a character less at the end", "numbe", "number"],
    ["a character more at the beginning", "xnote", "note"],
    ["a character more at the end", "notex", "note"],
    ["another character", "nxte", "note"],
    ["two neighbours swapped at the beginning", "onte", "note"],
    ["two neighbours swapped at the end", "noet", "note"],
    ["two swaps", "unmebrs", "numbers"],
    ["a swap and a character more", "ocolorz", "color"],
    ["a swap over a distance", "eotn", undefined],
    ["three changes of a long name", "xumxexs", undefined],
    ["two changes of a name of five characters", "xoxor", "color"],
    ["two changes of a name of four characters", "xoxe", undefined],
    ["one change of a name of four characters", "noxe", "note"],
    ["one change that leaves three characters", "not", "note"],
    ["one change that leaves two characters", "rp", undefined],
    ["half of a swap, of the first character", "nxoe", undefined],
    ["half of a swap, of the second character", "ntxe", undefined],
    ["a character more whose capital is two letters", "noteß", "note"],
    ["the nearest one, not the first", "nubers", "numbers"],
    ["the first of two that are equally near", "colorx", "color"],
    ["one that is exact but for its spelling, before those that are near", "N-umb_erS", "numbers"],
    ["64 characters", `${"_".repeat(60)}note`, "note"],
    ["65 characters", `${"_".repeat(61)}note`, undefined],
  ])("mean a field with %s", (_, name, meant) => {
    expect(meantBy(Thing, name)).toBe(meant);
  });
});
