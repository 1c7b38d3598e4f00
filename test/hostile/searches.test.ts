// Searches, cursors and lists that are costly or forged, on a board whose texts are made for them.
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, it } from "vitest";
import { SearchService } from "../../gen/stoa/v1/search_service_pb.js";
import { connectFrames, frameType, get, INITIAL_WINDOW_SIZE } from "../support/http2-frames.ts";
import { askRest } from "../support/service.ts";
import { type Ask, askAll } from "./requests.ts";
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
  "-a ".repeat(60),
  "a".repeat(200),
  "a\u0300".repeat(100),
  `a${"\u0300\u0316".repeat(99)}`,
  "\ufdfa".repeat(200),
  "\u4e00\u4e8c\u4e09".repeat(66),
  `"${"\u4e00".repeat(190)}"`,
  "\u{1f600}".repeat(100),
  "a.b.c.d.e.f.g.h.i.j.k.l.m".repeat(8),
  "%",
  "+common* ~words (here) @5 <>",
  "' OR 1=1; --",
  "\u0000",
  "\\",
  " ".repeat(200),
  "\u202e\u200b",
];

/** Values in places where cursors hold theirs. */
const values = [-1, 0, 1.5, 1e308, -1e308, 9007199254740991, "", "x".repeat(1000), null, "2026-01-01", "%"];
const forged = [
  ...["search", "posts", "comments", "inbox", "feed", "new", "top", "moderations", "revisions"].flatMap((kind) =>
    values.flatMap((value) => [
      [kind, value],
      [kind, value, value],
      [kind, "new", value, value, value],
    ]),
  ),
  Array.from({ length: 3_000 }, () => 1),
  ["[".repeat(2_000)],
].map((cursor) => Buffer.from(JSON.stringify(cursor)).toString("base64url"));
const brokenCursors = ["%00", "[[[[", "=".repeat(5_000), Buffer.from("[".repeat(10_000)).toString("base64url")];

const lists = [
  "/api/v1/posts",
  "/api/v1/posts/1/comments",
  "/api/v1/posts/1/revisions",
  "/api/v1/comments/1/replies",
  "/api/v1/agents/Neighbour/posts",
  "/api/v1/agents/Neighbour/comments",
  "/api/v1/agents/me/inbox",
  "/api/v1/agents/me/reports",
  "/api/v1/moderations",
  "/api/v1/communities/general/posts",
  "/api/v1/communities/general/moderators",
  "/api/v1/search?q=common",
  "/search?q=common",
  "/moderations",
  "/agents/Neighbour",
  "/agents/Neighbour/feed.xml",
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

  /** Every reply is a success, a refusal, or says that the service is busy. */
  async function expectRefusals(asks: readonly Ask[]): Promise<void> {
    const statuses = await victim.during(() => askAll(victim.url, asks));
    const known = [200, 400, 403, 404, 413, 414, 429, 431, 503];
    expect(
      [...statuses.keys()].filter((status) => !known.includes(status)),
      String([...statuses]),
    ).toEqual([]);
  }

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
    await expectRefusals([...asks, ...asks]);
  });

  it("of searches over gRPC, given up at once", async () => {
    const client = createClient(SearchService, createGrpcTransport({ baseUrl: victim.url }));
    await victim.during(async () => {
      for (let round = 0; round < 10; round++) {
        await Promise.all(
          queries.map((q) => client.search({ q }, { timeoutMs: round * 5 + 1 }).catch(() => undefined)),
        );
      }
    });
  });

  it("of forged cursors, offsets and limits in every list", async () => {
    const asks = lists.flatMap((list) => {
      const and = list.includes("?") ? "&" : "?";
      const parameters = [
        ...[...forged, ...brokenCursors].map((cursor) => `cursor=${cursor}`),
        ...["-1", "1e3", "9007199254740993", "9".repeat(5_000), "%00"].flatMap((value) =>
          ["limit", "offset", "from", "page", "item_id"].map((name) => `${name}=${value}`),
        ),
      ];
      return parameters.map((each) => ({ path: `${list}${and}${each}`, headers: authorization }));
    });
    await expectRefusals(asks.slice(0, 2_800));
    await expectRefusals(asks.slice(2_800).map(({ path }) => ({ path })));
  });

  it("of search results and lists that nobody reads", async () => {
    await victim.during(async () => {
      const connections = lists.map((list) => {
        const connection = connectFrames(victim.port, { [INITIAL_WINDOW_SIZE]: 0 });
        const path = list.startsWith("/api") ? `${list}${list.includes("?") ? "&" : "?"}limit=50` : list;
        const ids = Array.from({ length: 100 }, (_, index) => 2 * index + 1);
        connection.socket.write(Buffer.concat(ids.map((id) => get(id, path, authorization))));
        return connection;
      });
      await Promise.all(connections.map(({ received }) => received(({ type }) => type === frameType.headers)));
      // Whoever asks now waits behind what is unsent.
      expect(
        (
          await askAll(
            victim.url,
            lists.map((path) => ({ path })),
          )
        ).get(200),
      ).toBeGreaterThan(0);
      for (const { socket } of connections) socket.destroy();
    });
  });
});
