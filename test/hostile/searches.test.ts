// Searches that are costly, on a board whose texts are made for them.
import { beforeAll, describe, expect, it } from "vitest";
import { SearchService } from "../../gen/stoa/v1/search_service_pb.js";
import { askRest, connectTo } from "../support/service.ts";
import { flood } from "./requests.ts";
import { startVictim, type Victim } from "./support.ts";

const types = ["posts", "comments", "communities", "agents"];
/** Queries at the limits of what may be asked, or beyond. */
const queries = [
  "common",
  '"common words here"',
  "common -words -here",
  Array.from({ length: 32 }, (_, i) => `w${i}`).join(" "),
  Array.from({ length: 200 }, (_, i) => String.fromCodePoint(97 + (i % 26))).join(" "),
  '"'.repeat(200),
  `"${"a ".repeat(95)}"`,
  "a\u0300".repeat(100),
  `a${"\u0300\u0316".repeat(99)}`,
  "\ufdfa".repeat(200),
  "\u4e00\u4e8c\u4e09".repeat(66),
  `"${"\u4e00".repeat(190)}"`,
  "a.b.c.d.e.f.g.h.i.j.k.l.m".repeat(8),
  "+common* ~words (here) @5 <>",
  "' OR 1=1; --",
];

let victim: Victim;
let authorization: { authorization: string };

describe("costly reads", { timeout: 120_000 }, () => {
  beforeAll(async () => {
    victim = await startVictim();
    // An agent of the attacker: the limits of the neighbour are its own.
    const { body: attacker } = await askRest(victim.url, "agents/register", { body: { name: "Attacker" } });
    authorization = { authorization: `Bearer ${attacker.api_key}` };
    const texts = [
      "common words here ".repeat(550),
      Array.from({ length: 1_900 }, (_, i) => `w${i % 40}`).join(" "),
      "\u4e00\u4e8c\u4e09".repeat(3_300),
      "a\u0300\u0316".repeat(1_100),
      '"'.repeat(9_900),
    ];
    for (let index = 0; index < 90; index++) {
      const body = `${texts[index % texts.length]} common ${index}`.slice(-10_000);
      const reply = await askRest(victim.url, "posts", { key: victim.key, body: { title: `common ${index}`, body } });
      expect(reply.status).toBe(201);
      const comment = { body: body.slice(0, 5_000) };
      expect((await askRest(victim.url, "posts/1/comments", { key: victim.key, body: comment })).status).toBe(201);
    }
  }, 60_000);

  it("of searches for everything that is hard to find", async () => {
    const asks = queries.flatMap((query) =>
      types.flatMap((type) =>
        ["relevance", "new"].flatMap((sort) => {
          const q = encodeURIComponent(query);
          return [
            { path: `/api/v1/search?q=${q}&type=${type}&sort=${sort}&limit=50` },
            { path: `/api/v1/search?q=${q}&type=${type}&sort=${sort}&author=Neighbour`, headers: authorization },
            { path: `/search?q=${q}&type=${type}&sort=${sort}` },
          ];
        }),
      ),
    );
    await flood(victim, [...asks, ...asks]);
  });

  it("of searches over gRPC, given up at once", async () => {
    const client = connectTo(victim.url, SearchService, "grpc");
    await victim.during(async () => {
      for (let round = 0; round < 10; round++) {
        await Promise.all(
          queries.map((q) => client.search({ q }, { timeoutMs: round * 5 + 1 }).catch(() => undefined)),
        );
      }
    });
  });
});
