import { describe, expect, it } from "vitest";
import type { Binding } from "../../src/contract/bindings.ts";
import { readRequest } from "../../src/transcoding/request.ts";
import { splitTarget } from "../../src/transcoding/url-fields.ts";
import { fixtureBinding } from "../support/fixture.ts";

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
  it("are none for known members and parameters, nor for an empty body where none is read", () => {
    const known = '{"note":"x","number":1,"book":{"title":"y"},"extra":{"any":1},"flag":null}';
    expect(warningsOf(create, "/v1/things/a", known)).toEqual([]);
    expect(warningsOf(list, "/v1/things?note=x&book.author.age=1&&tags=a&tags=b")).toEqual([]);
    for (const body of ["", "{}", "null"]) expect(warningsOf(getBook, "/v1/books/a", body)).toEqual([]);
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
    ["nmuber", "number"],
    ["a-number", "number"],
  ])("that name the member whose name is nearly %s", (name, meant) => {
    const expected = `"${name}" is not a member of this request; did you mean "${meant}"?`;
    expect(warningsOf(create, "/v1/things/a", JSON.stringify({ [name]: 1 }))).toEqual([expected]);
  });

  it.each(["t", "nt", "numerals", "__proto__"])("that name nothing for %s", (name) => {
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
