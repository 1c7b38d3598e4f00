// What the recorded replies do not show of REST: templates, bodies and responses that our contract has not yet, and the order
// of faults.
import { describe, expect, it } from "vitest";
import { rawBytes, sendRaw, startFixtureServer } from "../../support/fixture-server.ts";
import { askRest, type Reply } from "../../support/service.ts";

const server = await startFixtureServer();

const ask = (path: string, options?: Parameters<typeof askRest>[2]) => askRest(server.url, path, options);
const post = (path: string, body: unknown) => ask(path, { method: "POST", body });

function expectError(reply: Reply, status: number, error: string, field?: string): void {
  expect([reply.status, reply.body.ok, reply.body.error, reply.body.field]).toEqual([status, false, error, field]);
  expect(reply.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(reply.headers.get("x-request-id")).toBeTruthy();
}

it("an address means the same each time that it is asked for, by any method and with any body", async () => {
  const address = "/v1/things/again?number=1&nubmer=2";
  const first = await ask(address);
  expect(first.body).toMatchObject({ rpc: "Get", name: "again", number: 1 });
  expect(first.body.warnings).toHaveLength(1);
  expect((await ask(address)).body).toEqual(first.body);
  expect((await post(address, { number: 3 })).body).toMatchObject({ rpc: "Create", name: "again", number: 3 });
  const head = `GET ${address} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 13\r\n\r\n`;
  const withBody = await sendRaw(server.port, head, '{"flag":true}');
  const { warnings, ...rest } = JSON.parse(withBody.body);
  expect({ ...rest, warnings: warnings.slice(0, 1) }).toEqual(first.body);
  expect(warnings[1]).toMatch(/^A GET request takes no body/);
  expect((await ask(address)).body).toEqual(first.body);
  expect((await ask("/v1/things/again?number=2")).body).toMatchObject({ name: "again", number: 2 });
});

describe("the sources of a message", () => {
  it("a value in the path takes precedence over the body and the query", async () => {
    const { body } = await post("/v1/things/path?number=2&flag=%zz", { name: "body", number: 1 });
    // If the body is the whole message, the query is ignored.
    expect([body.name, body.number, body.flag]).toEqual(["path", 1, null]);
    expect((await ask("/v1/things/path?name=query&name=b&name=%zz")).body.name).toBe("path");
  });

  it("if the body is one field, the query sets the other fields, and only the body sets that one", async () => {
    const path = "/v1/things/a?number=1&book.title=query&book.author.age=x";
    const { status, body } = await ask(path, { method: "PUT", body: { title: "body" } });
    expect([status, body.number, body.book.title]).toEqual([201, 1, "body"]);
    const list = await ask("/v1/things/a/tags?tags=c", { method: "PUT", body: ["a", "b"] });
    expect(list.body.tags).toEqual(["a", "b"]);
    expectError(await ask("/v1/things/a/tags", { method: "PUT", body: { a: 1 } }), 400, "bad_input", "tags");
    expectError(await ask("/v1/things/a", { method: "PUT", body: [] }), 400, "bad_input", "book");
    expect((await ask("/v1/things/a", { method: "PUT", body: "null" })).body.book).toBe(null);
  });

  it("a variable of a nested field is put into the body's object, even if that is absent or null", async () => {
    const put = (body: unknown) => ask("/v1/books/path", { method: "PUT", body });
    expect((await put({ name: "body", title: "t" })).body.book).toEqual({ name: "path", title: "t", author: null });
    expect((await put("null")).body.book.name).toBe("path");
    const author = await post("/v1/books/b/authors/c", { book: { author: { age: 5 } } });
    expect(author.body.book).toEqual({ name: "b", title: "", author: { name: "c", age: 5 } });
    expect((await post("/v1/books/b/authors/c", {})).body.book.author.name).toBe("c");
    expectError(await put("[]"), 400, "bad_input", "book");
    expectError(await post("/v1/books/b/authors/c", { book: 1 }), 400, "bad_input", "book");
    expectError(await post("/v1/books/b/authors/c", { book: { author: "x" } }), 400, "bad_input", "book.author");
  });

  it.each([
    ["POST", "/v1/things/x:archive", "Archive", "x"],
    ["POST", "/v1/things/x:y:publish", "Publish", "x:y"],
    ["POST", "/v1/things/x:other", "Create", "x:other"],
    ["POST", "/v1/things/:archive", "Create", ":archive"],
    ["POST", "/v1/things/x%3Aarchive", "Create", "x:archive"],
    ["GET", "/v1/things/x:archive", "Get", "x:archive"],
    ["GET", "/v1/files/a/b%20c/d%2Fe", "GetFile", "files/a/b c/d%2Fe"],
    ["GET", "/v1/files", "GetFile", "files"],
    ["GET", "/v1/any/1/x/2/3", "GetFile", "x"],
    ["GET", "/v1/any/1/x", "GetFile", "x"],
    ["GET", "/v1/things/a%2Fb", "Get", "a/b"],
    ["GET", "/v1/things/%F0%9F%98%80+%25", "Get", "😀+%"],
    ["GET", "/v1/th%69ngs/x", "Get", "x"],
  ])("%s %s is %s of %j", async (method, path, rpc, name) => {
    const { body } = await ask(path, { method, ...(method === "POST" ? { body: {} } : {}) });
    expect([body.rpc, body.name]).toEqual([rpc, name]);
  });

  it("values in the path are read strictly as the type of their field", async () => {
    const { body } = await ask("/v1/typed/-5/dark_green/true");
    expect([body.number, body.color, body.flag]).toEqual([-5, "dark_green", true]);
    expectError(await ask("/v1/typed/05/red/true"), 400, "bad_input", "number");
    expectError(await ask("/v1/typed/x/mauve/maybe"), 400, "bad_input", "number");
    expectError(await ask("/v1/typed/5/RED/maybe"), 400, "bad_input", "color");
    expectError(await ask("/v1/typed/5/red/1"), 400, "bad_input", "flag");
  });
});

describe("the query", () => {
  it("names nested fields with dots, and repeats a parameter for a list", async () => {
    const { body } = await ask(
      "/v1/things?book.title=t&book.author.age=3&tags=b&numbers=2&tags=a&numbers=1&colors=red",
    );
    expect(body.book).toEqual({ name: "", title: "t", author: { name: "", age: 3 } });
    expect([body.tags, body.numbers, body.colors]).toEqual([["b", "a"], [2, 1], ["red"]]);
  });

  it("decodes + and %20 as a space, and an absent value as an empty text", async () => {
    const { body } = await ask("/v1/things?note=a+b%20c%2B&name&&=x&tags=");
    expect([body.note, body.name, body.tags]).toEqual(["a b c+", "", [""]]);
    expect((await ask("/v1/things?n%6Fte=x")).body.note).toBe("x");
  });

  it("may have parameters that name no field or a field without a text form, which are ignored", async () => {
    const { status, body } = await ask(
      "/v1/things?utm=1&utm=2&what=%zz&%zz=1&Note=1&note.x=1&book=1&labels=1&labels.a=1&extra=1&books.name=1&__proto__=1" +
        "&toString=1&rpc.length=1&book..name=1&.=1",
    );
    expect([status, body.note, body.book, body.labels]).toEqual([200, null, null, {}]);
  });

  // A parameter that comes twice, broken encoding, an element of a list, and one or two of each type.
  it.each([
    ["number=1&number=1", "number"],
    ["book.title=a&book.title=a", "book.title"],
    ["note=%", "note"],
    ["note=%ED%A0%80", "note"],
    ["tags=a&tags=%zz", "tags"],
    ["book.author.age=x", "book.author.age"],
    ["color=RED", "color"],
    ["color=unspecified", "color"],
    ["colors=red&colors=mauve", "colors[1]"],
    ["flag=1", "flag"],
    ["ratio=1,5", "ratio"],
    ["since=2023-02-30T00:00:00Z", "since"],
    ["flag=x&number=x", "number"],
    // Numbers have one spelling, and JSON must have it exactly.
    ["number=010", "number"],
    ["number=", "number"],
    ["number=9007199254740992", "number"],
  ])("%s is refused with the name of the field", async (query, field) => {
    expectError(await ask(`/v1/things?${query}`), 400, "bad_input", field);
  });
});

describe("a response", () => {
  it("is the field that response_body names, or else the whole message", async () => {
    expect((await ask("/v1/wrapped/x")).body).toMatchObject({ ok: true, rpc: "GetWrapped", name: "x" });
    expect((await ask("/v1/unwrapped/x")).body).toMatchObject({ ok: true, thing: { name: "x" } });
    expect((await ask("/v1/wrapped/nothing")).body).toMatchObject({ ok: true, name: "" });
    expect((await ask("/v1/unwrapped/nothing")).body).toEqual({ ok: true, thing: null });
  });

  it("that is a google.api.HttpBody has exactly its bytes", async () => {
    const response = await fetch(`${server.url}/v1/raw/x`);
    expect(response.headers.get("content-type")).toBe("image/x-fixture");
    expect(Buffer.from(await response.arrayBuffer())).toEqual(rawBytes);
    const plain = await fetch(`${server.url}/v1/raw/plain`);
    expect([plain.headers.get("content-type"), await plain.text()]).toEqual(["application/octet-stream", "plain"]);
  });
});

describe("a body", () => {
  const limit = 262_144;
  const bodyOf = (size: number) => `{"note":"${"x".repeat(size - 11)}"}`;

  it("may have up to 262,144 bytes in chunks", async () => {
    const stream = (size: number) => new Blob([bodyOf(size)]).stream();
    const send = (size: number) =>
      fetch(`${server.url}/v1/things/a`, { method: "POST", body: stream(size), duplex: "half" } as RequestInit);
    expect((await send(limit)).status).toBe(201);
    const reply = await send(limit + 1);
    expect([reply.status, ((await reply.json()) as { error: string }).error]).toEqual([413, "too_large"]);
  });

  it.each([
    ["Content-Length: 5242880", (body: string) => body],
    ["Transfer-Encoding: chunked", (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`],
  ])("of 5 MiB is refused, and its sender can read the reply (%s)", async (header, frame) => {
    const head = `POST /v1/things/a HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`;
    const after = "GET /v1/things/after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    const reply = await sendRaw(server.port, head, frame(bodyOf(5 * 1024 * 1024)), after);
    expect(reply.status).toBe(413);
    expect(reply.body).toContain('"error":"too_large"');
  });
});

describe("of several faults", () => {
  const huge = "x".repeat(300_000);
  const write = "/v1/private/a/write";

  it("an unknown address is reported before missing credentials", async () => {
    for (const path of ["/v1/private//write", "/v1/private/a/write/", "//v1/private/a/write", "/v1/private/a/other"]) {
      expectError(await ask(path, { method: "POST", body: huge }), 404, "not_found");
    }
    expectError(await ask(write), 404, "not_found");
  });

  it("missing credentials are reported before the size of the body and everything else", async () => {
    for (const body of [huge, "{", "[]", '{"number":"x"}']) {
      const reply = await ask(write, { method: "POST", body, headers: { "content-type": "x;;=//" } });
      expectError(reply, 401, "unauthorized");
      expect(reply.headers.get("www-authenticate")).toBe("Bearer");
      expectError(await ask(write, { method: "POST", key: "bad", body }), 401, "unauthorized");
      expectError(await ask("/v1/private/a/touch?number=%zz", { method: "POST", body }), 401, "unauthorized");
    }
  });

  it("the size of the body is reported before its JSON, and its JSON before the fields", async () => {
    expectError(await ask(write, { method: "POST", key: "good", body: huge }), 413, "too_large");
    expectError(await ask(write, { method: "POST", key: "good", body: '{"number":"x"' }), 400, "bad_json");
    expectError(await ask(write, { method: "POST", key: "good", body: '{"number":"x"}' }), 400, "bad_input", "number");
    const { body } = await ask(write, { method: "POST", key: "good", body: '{"number":5}' });
    expect([body.number, body.note]).toEqual([5, "the caller"]);
  });

  it("the JSON of the body is reported before the values of the query, and credentials before the path", async () => {
    expectError(await ask("/v1/private/%zz/write", { method: "POST" }), 401, "unauthorized");
    expectError(await ask("/v1/things/%zz"), 400, "bad_input", "name");
    expectError(await ask("/v1/things/a?number=x", { method: "PUT", body: "{" }), 400, "bad_json");
  });

  it("the field with the lowest number is reported first, then unknown properties, then violated rules", async () => {
    expectError(await post("/v1/strict", { third: 1, first: 2, fourth: 3 }), 400, "bad_input", "first");
    expectError(await post("/v1/strict", { third: 1, fourth: 3 }), 400, "bad_input", "third");
    expectError(await post("/v1/strict", { fourth: 3 }), 400, "bad_input", "fourth");
    expectError(await post("/v1/ruled", { number: "x" }), 400, "bad_input", "number");
    expectError(await post("/v1/ruled", { number: 0 }), 400, "bad_input", "title");
    expectError(await post("/v1/ruled", { title: "abcdef", number: 0 }), 400, "bad_input", "title");
    expectError(await post("/v1/ruled", { title: "😀😀😀😀😀", number: 0 }), 400, "bad_input", "number");
    expect((await post("/v1/ruled", { title: "😀😀😀😀😀", number: 1, what: 1 })).status).toBe(200);
  });
});

// A path matches its template exactly; recorded replies show it of the contract's.
it.each([
  ["GET", "/v1/all//things"],
  ["GET", "/v1/typed/1//true"],
  ["POST", "/v1/files/"],
  ["GET", "/v1/files/a//b"],
  ["GET", "/V1/things"],
  ["POST", "/v1/only-rpc"],
])("%s %s is 404", async (method, path) => {
  expectError(await ask(path, { method, ...(method === "GET" ? {} : { body: "{" }) }), 404, "not_found");
});

describe("a failure", () => {
  it("from the implementation keeps its code, field and time to wait", async () => {
    expectError(await ask("/v1/fail/missing"), 404, "not_found", "name");
    const unavailable = await ask("/v1/fail/unavailable");
    expect([unavailable.status, unavailable.body, unavailable.headers.get("retry-after")]).toEqual([
      503,
      { ok: false, error: "unavailable", message: "Later.", retry_after_seconds: 7 },
      "7",
    ]);
  });

  // What an implementation throws is in server.test.ts.
  it("that is a value which JSON does not have is internal, and logged with its request id", async () => {
    const reply = await ask("/v1/fail/unwritable");
    expectError(reply, 500, "internal");
    const lines = server.log.filter(
      ({ reqId, err }) => reqId === reply.headers.get("x-request-id") && err !== undefined,
    );
    expect(lines.map(({ err }) => (err as Error).message)).toEqual([expect.stringContaining("9007199254740992")]);
  });

  it("that is not an Error becomes an internal error as well", async () => {
    expectError(await ask("/v1/fail/nothing"), 500, "internal");
  });
});
