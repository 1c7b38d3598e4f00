import { describe, expect, it } from "vitest";
import { compilePathTemplate, decodeCaptured, PathEncodingError } from "../../src/contract/path-template.ts";

/** The values of the variables by field; undefined if the path does not match. */
function read(template: string, path: string): Record<string, string> | undefined {
  const captured = compilePathTemplate(template).match(path);
  return captured && Object.fromEntries(captured.map((each) => [each.field.join("."), decodeCaptured(each)]));
}

describe("a path template", () => {
  it.each([
    ["/v1/things", ["/v1/things"]],
    ["/v1/things/{id}", ["/v1/things/:p2"]],
    ["/v1/things/{id=*}/parts/*", ["/v1/things/:p2/parts/:p4"]],
    ["/v1/{name=shelves/*/books/*}", ["/v1/shelves/:p2/books/:p4"]],
    ["/v1/{name=files/**}", ["/v1/files", "/v1/files/*"]],
    ["/v1/{a.b_c.d1}/**", ["/v1/:p1", "/v1/:p1/*"]],
    ["/**", ["/*"]],
    ["/v1/things:search", ["/v1/things::search"]],
    ["/v1/things/{id}:archive", ["/v1/things/:p2"]],
    ["/v1/{name=files/**}:touch", ["/v1/files::touch", "/v1/files/*"]],
  ])("%s has the routes %j", (template, routes) => {
    expect(compilePathTemplate(template).routes).toEqual(routes);
  });

  it.each([
    ["", "it must begin with a slash and have a segment"],
    ["v1/things", "it must begin with a slash and have a segment"],
    ["/v1//things", '"" is no segment'],
    ["/v1/{id", '"{id" is no segment'],
    ["/v1/{}", '"{}" is no segment'],
    ["/v1/{a..b}", '"{a..b}" is no segment'],
    ["/v1/{1a}", '"{1a}" is no segment'],
    ["/v1/x{a}", '"x{a}" is no segment'],
    ["/v1/{a={b}}", '"{a={b}}" is no segment'],
    ["/v1/{a=x//y}", '"" is no segment'],
    ["/v1/***", '"***" is no segment'],
    ["/v1/**/x", "** is not the last segment"],
    ["/v1/{a=**/x}", "** is not the last segment"],
    ["/v1/{a}/{a}", "a is bound twice"],
    ["/v1/{a.b}/{a.b=x/*}", "a.b is bound twice"],
    ["/v1/things:", '"things:" is no segment'],
    ["/v1/a:b/c", '"a:b" is no segment'],
    ["/v1/{a}:b c", "b c is no verb"],
    ["/v1/a b", '"a b" is no segment'],
  ])("refuses the malformed template %j: %s", (template, why) => {
    expect(() => compilePathTemplate(template)).toThrow(
      new Error(`The path template ${template} is malformed: ${why}.`),
    );
  });
});

describe("a path", () => {
  it.each([
    ["/v1/things/{id}", "/v1/things/7", { id: "7" }],
    ["/v1/{book.name}", "/v1/x", { "book.name": "x" }],
    ["/v1/{name=shelves/*/books/*}", "/v1/shelves/1/books/2", { name: "shelves/1/books/2" }],
    ["/v1/{name=files/**}", "/v1/files/a/b/c", { name: "files/a/b/c" }],
    ["/v1/{name=files/**}", "/v1/files", { name: "files" }],
    ["/v1/{name=**}", "/v1", { name: "" }],
    ["/v1/{name=x}/**", "/v1/x/y/z", { name: "x" }],
    ["/v1/**", "/v1/a/b", {}],
    ["/v1/{id}:archive", "/v1/7:archive", { id: "7" }],
    ["/v1/{id}:archive", "/v1/a:b:archive", { id: "a:b" }],
    ["/v1/{id}", "/v1/7:archive", { id: "7:archive" }],
    ["/v1/{name=files/**}:touch", "/v1/files/a/b:touch", { name: "files/a/b" }],
    ["/v1/{name=files/**}:touch", "/v1/files:touch", { name: "files" }],
    ["/v1/things:search", "/v1/things:search", {}],
  ])("matches %s: %s gives %j", (template, path, values) => {
    expect(read(template, path)).toEqual(values);
  });

  it.each([
    ["/v1/{id}", "/v1/"],
    ["/v1/{id}/x", "/v1//x"],
    ["/v1/{id}/x", "/v1/7/x/"],
    ["/v1/{name=files/**}", "/v1/files/"],
    ["/v1/{name=files/**}", "/v1/files/a//b"],
    ["/v1/{id}:archive", "/v1/7"],
    ["/v1/{id}:archive", "/v1/7:publish"],
    ["/v1/{id}:archive", "/v1/:archive"],
    ["/v1/{id}:archive", "/v1/7%3Aarchive"],
  ])("does not match %s: %s", (template, path) => {
    expect(read(template, path)).toBeUndefined();
  });

  it.each([
    ["/v1/{id}", "/v1/a%20b", "a b"],
    ["/v1/{id}", "/v1/a+b", "a+b"],
    ["/v1/{id}", "/v1/a%2Fb%2fc", "a/b/c"],
    ["/v1/{id}", "/v1/%252F", "%2F"],
    ["/v1/{id}", "/v1/%C3%A4%F0%9F%98%80", "ä😀"],
    ["/v1/{id=files/**}", "/v1/files/a%2Fb/%2fc", "files/a%2Fb/%2fc"],
    ["/v1/{id=files/**}", "/v1/files/a%20b/%C3%A4%25", "files/a b/ä%"],
    ["/v1/{id=x/*}", "/v1/x/a%2Fb", "x/a%2Fb"],
  ])("is decoded by %s: %s gives %j", (template, path, value) => {
    expect(read(template, path)).toEqual({ id: value });
  });

  it.each(["%2", "%zz", "%C3", "%ED%A0%80"])(
    "with the broken percent-encoding %s matches but cannot be decoded; the error names the field",
    (segment) => {
      for (const [template, path] of [
        ["/v1/{a}/{book.name}", `/v1/x/${segment}`],
        ["/v1/{a}/{book.name=files/**}", `/v1/x/files/ok/${segment}`],
      ] as const) {
        const captured = compilePathTemplate(template).match(path) ?? [];
        expect(captured.map(({ field }) => field.join("."))).toEqual(["a", "book.name"]);
        const [fine, broken] = captured as [never, never];
        expect(decodeCaptured(fine)).toBe("x");
        expect(() => decodeCaptured(broken)).toThrow(expect.objectContaining({ field: "book.name" }));
        expect(() => decodeCaptured(broken)).toThrow(PathEncodingError);
        expect(() => decodeCaptured(broken)).toThrow("the percent-encoding is broken");
      }
    },
  );
});
