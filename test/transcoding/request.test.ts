import { fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { type Binding, bindingsOf } from "../../src/contract/bindings.ts";
import { StoaError } from "../../src/errors.ts";
import { encodeMessage } from "../../src/transcoding/encode.ts";
import {
  decodeQuery,
  decodeVariable,
  isQueryField,
  readRequest,
  resumingField,
  splitTarget,
} from "../../src/transcoding/request.ts";
import { fixtureBinding } from "../support/fixture.ts";

/** Reads a request as a server would, from its target and its body. */
function read(binding: Binding, target: string, body?: string | Buffer): Record<string, unknown> {
  const { path, query } = splitTarget(target);
  const captured = binding.path.match(path);
  if (captured === undefined) throw new Error(`${target} does not match ${binding.template}.`);
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  return plain(binding, readRequest(binding, { captured, query, body: bytes }).message);
}

/** The members of a message that are set. */
function plain({ rpc }: Binding, message: Message): Record<string, unknown> {
  // Through the binary form, which shows that the message is of its type.
  const members = encodeMessage(rpc.input, fromBinary(rpc.input, toBinary(rpc.input, message)));
  const isSet = (value: unknown) =>
    value !== null &&
    value !== "" &&
    value !== "unspecified" &&
    !(typeof value === "object" && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(members as object).filter(([, value]) => isSet(value)));
}

const badInput = (field: string | undefined, message?: string) =>
  expect.objectContaining({ code: "bad_input", field, ...(message === undefined ? {} : { message }) });

const list = fixtureBinding("GET", "/v1/things");
const get = fixtureBinding("GET", "/v1/things/{name}");
const search = fixtureBinding("POST", "/v1/things:search");
const create = fixtureBinding("POST", "/v1/things/{name}");
const putTags = fixtureBinding("PUT", "/v1/things/{name}/tags");
const putBook = fixtureBinding("PUT", "/v1/books/{book.name}");
const postAuthor = fixtureBinding("POST", "/v1/books/{book.name}/authors/{book.author.name}");
const getBook = fixtureBinding("GET", "/v1/books/{book.name}");

describe("splitTarget", () => {
  it.each([
    ["/a/b", "/a/b", ""],
    ["/a?b=c", "/a", "b=c"],
    ["/a?", "/a", ""],
    ["/a?b?c", "/a", "b?c"],
    ["/a#b?c", "/a", ""],
    ["/a?b#c?d", "/a", "b"],
    ["", "", ""],
    ["?b", "", "b"],
    ["*", "*", ""],
    ["http://host/a?b", "/a", "b"],
    ["https://user@host:8443/a", "/a", ""],
    ["HTTP://HOST/a", "/a", ""],
    ["http://host", "", ""],
    ["http://host?b", "", "b"],
    ["http://host#c", "", ""],
    ["http:///a", "/a", ""],
    ["/http://host/a", "/http://host/a", ""],
    ["ftp://host/a", "ftp://host/a", ""],
    ["httpss://host/a", "httpss://host/a", ""],
  ])("%j has the path %j and the query %j", (target, path, query) => {
    expect(splitTarget(target)).toEqual({ path, query });
  });
});

describe("the message of a request", () => {
  it("is read from the path and the query when the binding has no body", () => {
    expect(read(get, "/v1/things/a%20b?number=7&flag=true&tags=x&tags=y")).toEqual({
      name: "a b",
      number: 7,
      flag: true,
      tags: ["x", "y"],
    });
  });

  it("ignores the body when the binding has none", () => {
    expect(read(get, "/v1/things/a", "not JSON")).toEqual({ name: "a" });
  });

  it("ignores the query when the body is the whole message", () => {
    expect(read(search, "/v1/things:search?number=7&flag=maybe&name=%e0", '{"note": "n"}')).toEqual({ note: "n" });
  });

  it("takes a field from the path rather than from the body or the query", () => {
    expect(read(create, "/v1/things/path", '{"name": "body", "number": 1}')).toEqual({ name: "path", number: 1 });
    expect(read(get, "/v1/things/path?name=query")).toEqual({ name: "path" });
  });

  it("takes one field from the body and the others from the query", () => {
    expect(read(putTags, "/v1/things/a/tags?number=7&tags=q", '["x", "y"]')).toEqual({
      name: "a",
      number: 7,
      tags: ["x", "y"],
    });
    expect(read(putBook, "/v1/books/a?number=7&book.title=q", '{"title": "t"}')).toEqual({
      number: 7,
      book: expect.objectContaining({ name: "a", title: "t" }),
    });
  });

  it("gets variables of nested fields, whether or not the body has the object", () => {
    const target = "/v1/books/b/authors/c";
    const book = { name: "b", author: expect.objectContaining({ name: "c" }) };
    for (const body of ["{}", '{"book": null}', '{"book": {"author": null}}', '{"book": {"name": "x"}}']) {
      expect(read(postAuthor, target, body)).toEqual({ book: expect.objectContaining(book) });
    }
    const body = '{"book": {"title": "t", "author": {"name": "x", "age": 9}}}';
    expect(read(postAuthor, target, body)).toEqual({ book: { name: "b", title: "t", author: { name: "c", age: 9 } } });
  });

  it("is refused when the body has something else in the place of an object that a variable needs", () => {
    expect(() => read(postAuthor, "/v1/books/b/authors/c", '{"book": "text"}')).toThrow(badInput("book"));
    expect(() => read(postAuthor, "/v1/books/b/authors/c", '{"book": {"author": []}}')).toThrow(
      badInput("book.author"),
    );
  });

  it.each([
    [undefined, "The body is empty; it must be JSON."],
    ["", "The body is empty; it must be JSON."],
    [Buffer.from([0x22, 0xff, 0x22]), "The body is not UTF-8."],
    ["{", "The body is not JSON: it ends too early."],
    ['{"a": 1, "a": 2}', 'The body is not JSON: the key "a" comes twice.'],
  ])("is refused with bad_json if the body is %j", (body, message) => {
    const refused = expect.objectContaining({ code: "bad_json", message });
    for (const [binding, target] of [
      [create, "/v1/things/a"],
      [putTags, "/v1/things/a/tags"],
    ] as const) {
      expect(() => read(binding, target, body)).toThrow(refused);
    }
  });

  it.each(["[]", "null", "1", '"text"', "true"])("is refused if the body of a whole message is %s", (body) => {
    expect(() => read(create, "/v1/things/a", body)).toThrow(badInput(undefined, "The body must be a JSON object."));
  });

  it("has no field that a null in the body stands for", () => {
    expect(read(putTags, "/v1/things/a/tags", "null")).toEqual({ name: "a" });
  });

  it("is refused if the percent-encoding of the path is broken, before the query is read", () => {
    const message = "In the path, the percent-encoding is broken.";
    expect(() => read(get, "/v1/things/%e0?number=x")).toThrow(badInput("name", message));
    expect(() => read(getBook, "/v1/books/%zz")).toThrow(badInput("book.name", message));
  });
});

describe("the query", () => {
  it("names nested fields with dots", () => {
    expect(read(list, "/v1/things?book.title=t&book.author.name=n&book.author.age=3")).toEqual({
      book: { name: "", title: "t", author: { name: "n", age: 3 } },
    });
  });

  it("is decoded with + as a space, in names and in values", () => {
    expect(read(list, "/v1/things?n%61me=a+b%2Bc%3D&note==x=y&&")).toEqual({ name: "a b+c=", note: "=x=y" });
  });

  it("gives an empty text where there is no value", () => {
    expect(read(list, "/v1/things?tags&tags=&tags=x").tags).toEqual(["", "", "x"]);
  });

  it("ignores parameters that name no field or a field without a text form", () => {
    const query =
      "nothing=1&book=x&books=x&labels=x&extra=x&%e0=1&book.nothing=1&name.first=1&=1&nothing=%e0&flag=true";
    expect(read(list, `/v1/things?${query}`)).toEqual({ flag: true });
  });

  it("reads fields of messages that are one text in JSON", () => {
    expect(read(list, "/v1/things?since=2026-01-31T00:00:00Z&wait=1.5s&count=9")).toEqual({
      since: "2026-01-31T00:00:00.000Z",
      wait: "1.500s",
      count: 9,
    });
  });

  it("is refused if the percent-encoding of a field's value is broken, wherever it is in the list", () => {
    const broken = (field: string) => badInput(field, `The percent-encoding of ${field} is broken.`);
    expect(() => read(list, "/v1/things?note=%")).toThrow(broken("note"));
    expect(() => read(list, "/v1/things?tags=a&tags=%c3")).toThrow(broken("tags"));
    expect(() => read(list, "/v1/things?book.title=%ff")).toThrow(broken("book.title"));
  });

  it("gives no value to a field that comes twice and is not a list", () => {
    expect(() => read(list, "/v1/things?note=a&note=b")).toThrow(badInput("note", "note is given more than once."));
  });
});

describe("isQueryField", () => {
  it.each<[Binding, string, boolean]>([
    [list, "name", true],
    [list, "tags", true],
    [list, "color", true],
    [list, "since", true],
    [list, "count", true],
    [list, "wait", true],
    [list, "book.title", true],
    [list, "book.author.age", true],
    [list, "book", false],
    [list, "books", false],
    [list, "labels", false],
    [list, "extra", false],
    [list, "nothing", false],
    [list, "", false],
    [get, "name", false],
    [get, "note", true],
    [putTags, "tags", false],
    [putTags, "name", false],
    [putTags, "note", true],
    [putBook, "book.title", false],
    [putBook, "note", true],
    [getBook, "book.name", false],
    [getBook, "book.title", true],
    [getBook, "name", true],
  ])("$0.template: %s", (binding, name, expected) => {
    expect(isQueryField(binding, name)).toBe(expected);
  });
});

describe("decoding", () => {
  it("of a query's text turns + into a space and leaves broken percent-encoding undefined", () => {
    expect(decodeQuery("a+b%2B+%C3%A4")).toBe("a b+ ä");
    expect(decodeQuery("")).toBe("");
    for (const broken of ["%", "%4", "%zz", "%c3", "a%ff"]) expect(decodeQuery(broken)).toBeUndefined();
  });

  it("of a variable leaves + alone", () => {
    expect(decodeVariable({ field: ["name"], segments: ["a+b%20c"], isSingle: true })).toBe("a+b c");
  });
});

describe("Last-Event-ID", () => {
  const stream = bindingsOf(LedgerService).find(({ rpc }) => rpc.name === "StreamReceipts") as Binding;
  const resume = (lastEventId: string | undefined, query = "", binding = stream) =>
    plain(binding, readRequest(binding, { captured: [], query, body: undefined, lastEventId }).message);

  it("continues after the last event, and wins over the query", () => {
    expect(resume("41")).toMatchObject({ from: 42 });
    expect(resume("0", "from=7")).toMatchObject({ from: 1 });
    expect(resume("0000000000000041")).toMatchObject({ from: 42 });
    expect(resume("9007199254740990")).toMatchObject({ from: 9_007_199_254_740_991 });
  });

  it.each(["", "x", "-1", "1.5", "1e3", " 1", "1 ", "1\n", "12345678901234567", undefined])(
    "is ignored if it is %j, which no event has",
    (id) => {
      expect(resume(id, "from=7")).toMatchObject({ from: 7 });
    },
  );

  it("is refused if the next event would be beyond the largest seq", () => {
    expect(() => resume("9007199254740991")).toThrow(StoaError);
    expect(() => resume("9007199254740991")).toThrow(badInput("from"));
  });

  it("is ignored by operations that do not resume", () => {
    expect(resume("41", "", list)).toEqual({});
    expect(resumingField(list)).toBeUndefined();
    expect(resumingField(stream)?.name).toBe("from");
  });
});
