import { describe, expect, it } from "vitest";
import { startService } from "../support/service.ts";

const path = "/api/v1/posts?limit=50";

const service = await startService();
const { key } = await service.register();
for (let count = 0; count < 12; count++) {
  const body = { title: `Post ${count}`, body: "long ".repeat(1_900) };
  expect((await service.rest("posts", { key, body })).status).toBe(201);
}

const ask = (query: string, init?: RequestInit) => fetch(service.url + path + query, init);

describe("a large reply with warnings", () => {
  it("is the one without them, and the warnings last, however it is asked for", async () => {
    const plain = await (await ask("")).text();
    expect(plain.length).toBeGreaterThan(100_000);
    for (const accepted of ["identity", "br", "gzip"]) {
      const headers = { "accept-encoding": accepted };
      const replies = await Promise.all(Array.from({ length: 4 }, (_, index) => ask(`&odd${index}=1`, { headers })));
      for (const [index, reply] of replies.entries()) {
        const body = await reply.text();
        expect(body.slice(0, plain.length - 1)).toBe(plain.slice(0, -1));
        expect(JSON.parse(body).warnings).toEqual([expect.stringContaining(`odd${index}`)]);
        expect(Number(reply.headers.get("content-length"))).toBe(Buffer.byteLength(body));
      }
    }
  });

  it("has a tag of its own, which If-None-Match finds", async () => {
    const [plain, odd] = await Promise.all([ask(""), ask("&odd=1")]);
    const tag = odd.headers.get("etag") as string;
    expect(tag).not.toBe(plain.headers.get("etag"));
    expect((await ask("&odd=1", { headers: { "if-none-match": tag } })).status).toBe(304);
    expect((await ask("&other=1", { headers: { "if-none-match": tag } })).status).toBe(200);
  });
});
