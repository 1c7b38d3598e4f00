import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { description } from "../../support/openapi/schemas.ts";
import { rawRequest } from "../../support/raw-request.ts";
import { startService } from "../../support/service.ts";

const get = (url: string, headers: Record<string, string> = {}, method = "GET") => rawRequest(url, { headers, method });

// The calls of an operator are no part of the description.
const operatorToken = "an-example-of-32-characters-or-more";
const service = await startService({ config: { siteUrl: "https://board.stoa.test", operatorToken } });
const json = `${service.url}/api/v1/openapi.json`;

it("the description is served as JSON and as YAML, with this service's address", async () => {
  const { status, headers, body } = await get(json);
  expect([status, headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
  const served = JSON.parse(body.toString("utf8"));
  expect(served.servers).toEqual([{ url: "https://board.stoa.test" }]);
  const expected = JSON.parse(JSON.stringify(description).replaceAll("{site_url}", "https://board.stoa.test"));
  expect({ ...served, tags: byName(served.tags) }).toEqual({ ...expected, tags: byName(expected.tags) });
  const yaml = await get(`${service.url}/api/v1/openapi.yaml`);
  expect(yaml.headers["content-type"]).toBe("application/yaml; charset=utf-8");
  expect(parse(yaml.body.toString("utf8"))).toEqual(served);
});

/** The service lists its services in another order. */
function byName(tags: { name: string }[]) {
  return tags.toSorted((a, b) => a.name.localeCompare(b.name));
}

describe("the encoding", () => {
  it.each([
    ["br, gzip", "br", brotliDecompressSync],
    ["br;q=0, *", "gzip", gunzipSync],
    ["br;q=0.000, gzip;q=0", undefined, (body: Buffer) => body],
  ])("for a client that accepts %j is %s", async (accepted, encoding, decompress) => {
    const plain = (await get(json)).body;
    const { headers, body } = await get(json, { "accept-encoding": accepted });
    expect(headers["content-encoding"]).toBe(encoding);
    expect(headers.vary).toBe("accept-encoding");
    expect(decompress(body)).toEqual(plain);
    if (encoding !== undefined) expect(body.length).toBeLessThan(plain.length / 5);
  });

  it("has its own strong tag, with which the server answers 304", async () => {
    const tags = new Set<string>();
    for (const encoding of ["br", "gzip", "identity"]) {
      const first = await get(json, { "accept-encoding": encoding });
      const tag = first.headers.etag as string;
      expect(tag).toMatch(/^"[\w-]+"$/);
      tags.add(tag);
      const again = await get(json, { "accept-encoding": encoding, "if-none-match": `"other", ${tag}` });
      expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, tag]);
      expect((await get(json, { "accept-encoding": encoding, "if-none-match": '"other"' })).status).toBe(200);
      const { headers, body } = await get(json, { "accept-encoding": encoding }, "HEAD");
      expect([headers["content-length"], body.length]).toEqual([first.headers["content-length"], 0]);
    }
    expect(tags.size).toBe(3);
  });
});
