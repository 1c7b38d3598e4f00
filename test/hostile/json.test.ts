import { brotliCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { askRest, type Reply } from "../support/service.ts";
import { encodings } from "./requests.ts";
import { startVictim } from "./support.ts";

const size = 256 * 1024;
/** Bodies of 256 KiB that cost a parser most, by what they consist of. */
const bodies: Record<string, string> = {
  "nested arrays": "[".repeat(size / 2) + "]".repeat(size / 2),
  "open objects": '{"a":'.repeat(size / 5),
  "nesting in a member that nobody reads": `{"title":"abc","x":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
  "empty arrays": `[${"[],".repeat(80_000)}[]]`,
  numbers: `[${"1,".repeat(120_000)}1]`,
  members: `{${Array.from({ length: 20_000 }, (_, index) => `"k${index}":1`).join(",")}}`,
};

const paths = [
  "/api/v1/posts",
  "/api/v1/agents/register",
  "/api/v1/posts/1/comments",
  "/stoa.v1.PostService/CreatePost",
  "/stoa.v1.LedgerService/ListReceipts",
];
/** The code of a failure over REST or Connect. */
const codeOf = (body: Reply["body"]) => body.error ?? body.details[0].debug.error;

describe("JSON that is expensive to read", () => {
  it("is refused before all of it is read, however it is compressed", async () => {
    // Refusals have a limit of their own, which is not what is tried here.
    const victim = await startVictim({ STOA_RATE_LIMITS: "off" });
    const post = (path: string, body: Buffer, encoding: string) =>
      askRest(victim.url, path, {
        key: victim.key,
        body,
        headers: { "content-encoding": encoding, "content-type": "application/json" },
      });
    await victim.during(async () => {
      for (const [name, text] of Object.entries(bodies)) {
        for (const [encoding, encode] of Object.entries(encodings)) {
          const body = encode(text);
          for (const path of paths) {
            const replies = await Promise.all(Array.from({ length: 10 }, () => post(path, body, encoding)));
            for (const reply of replies)
              expect([name, reply.status, codeOf(reply.body)]).toEqual([name, 400, "bad_json"]);
          }
        }
      }
      // A body counts as what it decompresses to.
      const bomb = brotliCompressSync(Buffer.alloc(50_000_000, 32));
      for (let i = 0; i < 20; i++) expect((await post("/api/v1/posts", bomb, "br")).status).toBe(413);
    });
  }, 120_000);
});
