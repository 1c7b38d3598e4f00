// What the engine finds, in every plan, is what a plain look at every text finds; and no query is an error of the service.
import { expect, it } from "vitest";
import type { Queryable } from "../../../src/board/board.ts";
import { encodeSearchCursor } from "../../../src/board/search/cursor.ts";
import { defaultIndexerPace } from "../../../src/board/search/indexer.ts";
import { planSearch } from "../../../src/board/search/plan.ts";
import { parseQuery } from "../../../src/board/search/query.ts";
import { search } from "../../../src/board/search/search.ts";
import { tokensOf } from "../../../src/board/search/tokens.ts";
import { openStore } from "../../support/database.ts";
import { randomNumbers } from "../../support/posts.ts";
import { startService } from "../../support/service.ts";

// The service's own indexer would index, or remove, what the tests write past it.
const service = await startService({ overrides: { indexerPace: { ...defaultIndexerPace, delayMs: 3_600_000 } } });
const db = openStore(service.db, 8);
const never = new AbortController().signal;
const random = randomNumbers(1414);
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

/** From very common to rare. */
const vocabulary = "the a of agent Straße ship 漢字 字漢 漢 node.js C++ supercalifragilistic क्या zeno".split(" ");
const word = () => vocabulary[Math.floor(random() ** 3 * vocabulary.length)] as string;
const posts: { id: number; communityId: number; authorId: number; tokens: string }[] = [];

await service.register("Zeno");
await service.register("Aristo");
const { pool } = service.db;
await pool.query("INSERT INTO communities (name, title, description, created_at) VALUES ('small', 'Small', '', 1)");
const rows = Array.from({ length: 1_600 }, (_, index) => {
  const body = Array.from({ length: 1 + Math.floor(random() * 6) }, word).join(pick([" ", " ", "-", "。"]));
  const [communityId, authorId] = [random() < 0.1 ? 2 : 1, random() < 0.3 ? 2 : 1];
  posts.push({ id: index + 1, communityId, authorId, tokens: tokensOf(`title\ntitle\ntitle\n${body}`) });
  return [index + 1, communityId, authorId, "title", body, 1];
});
await pool.query("INSERT INTO posts (id, community_id, author_id, title, body, created_at) VALUES ?", [rows]);
await pool.query("INSERT INTO search_posts (id, community_id, author_id, text_version, tokens) VALUES ?", [
  posts.map(({ id, communityId, authorId, tokens }) => [id, communityId, authorId, 0, tokens]),
]);
// The words of deleted and changed items stay in the engine's lists.
await pool.query("DELETE p, s FROM posts p JOIN search_posts s ON s.id = p.id WHERE p.id % 17 = 3");
for (const post of posts.splice(0)) if (post.id % 17 !== 3) posts.push(post);

function expected(text: string, filter: { community?: string; author?: string }): number[] {
  const { required, excluded } = parseQuery(text);
  return posts
    .filter(
      ({ tokens, communityId, authorId }) =>
        required.every((term) => tokens.includes(` ${term} `)) &&
        !excluded.some((term) => tokens.includes(` ${term} `)) &&
        (filter.community === undefined || communityId === 2) &&
        (filter.author === undefined || authorId === 2),
    )
    .map(({ id }) => id)
    .reverse();
}

async function everything(
  text: string,
  sort: "relevance" | "new",
  filter: { community?: string; author?: string },
): Promise<number[]> {
  const ids: number[] = [];
  let cursor: string | undefined;
  do {
    const { community, author } = filter;
    const input = { text, type: "posts", community, author, sort, limit: 50, cursor } as const;
    const { rows, nextCursor } = await search(db.reader(never), input);
    ids.push(...rows.map(({ id }) => id));
    cursor = nextCursor;
  } while (cursor !== undefined);
  return ids;
}

it("the engine finds what every text says, in every order and place", async () => {
  for (let query = 0; query < 20; query++) {
    const term = () => pick([word, () => `"${word()} ${word()}"`])();
    const without = random() < 0.4 ? ` -${term()}` : "";
    const text = `${Array.from({ length: 1 + Math.floor(random() * 3) }, term).join(" ")}${without}`;
    const both = { community: "small", author: "aristo" };
    const filter = pick([{}, {}, { community: "small" }, { author: "aristo" }, both]);
    const ids = expected(text, filter);
    expect(await everything(text, "new", filter), text).toEqual(ids);
    const ranked = await everything(text, "relevance", filter);
    const inOrder = ranked.toSorted((a, b) => b - a);
    if (ids.length <= 1_000) expect(inOrder, text).toEqual(ids);
    else expect(ids, text).toEqual(expect.arrayContaining(ranked));
  }
});

it("whatever is typed is data", async () => {
  const pieces = [..."\"-+*~()<>'\\%;\u0000  🎉\uFDFA", "@5", "--", "/*", "the", "漢字", "zeno"];
  for (let i = 0; i < 50; i++) {
    const q = Array.from({ length: 1 + random() * 14 }, () => pick(pieces)).join("");
    const { status, body } = await service.rest(
      `search?${new URLSearchParams({ q, sort: pick(["new", "relevance"]) })}`,
    );
    expect([200, 400], `${JSON.stringify(q)} ${JSON.stringify(body)}`).toContain(status);
    if (status === 400) expect([body.error, body.field]).toEqual(["bad_input", "q"]);
  }
});

/** All have `qmost`; of a hundred, six have `qmid`, one `qsome` and one `qfew`. */
const wordsOf = (index: number) =>
  ` qmost ${index % 100 < 1 ? "qfew " : ""}${index % 100 === 1 ? "qsome " : ""}${index % 50 < 3 ? "qmid " : ""}`;
await pool.query("INSERT INTO search_comments (id, community_id, author_id, text_version, tokens) VALUES ?", [
  Array.from({ length: 1_500 }, (_, index) => [index + 1, index % 3 === 0 ? 2 : 1, 1, 0, wordsOf(index)]),
]);

it("a cursor that somebody has written does not have the index look up a common word", async () => {
  const reader = db.reader(never);
  /** What the index is asked for on a later page of a search, if its cursor names these words. */
  const asked = async (text: string, words: readonly string[], sort: "relevance" | "new") => {
    const plan = { by: sort === "new" ? "newest" : "rank", words } as const;
    const cursor = encodeSearchCursor([text, "comments", null, null, sort], {
      plan,
      after: { id: 1e9, relevance: 1e9 },
    });
    const found = new Set<unknown>();
    const watched: Queryable = {
      rows(sql, params) {
        if (sql.includes("AGAINST")) found.add(params?.find((param) => String(param).startsWith("+")));
        return reader.rows(sql, params);
      },
    };
    const input = { text, type: "comments", community: undefined, author: undefined, sort, limit: 25, cursor } as const;
    await search(watched, input);
    return [...found];
  };
  for (const sort of ["relevance", "new"] as const) {
    expect(await asked("most few", ["qmost"], sort)).toEqual(["+qfew"]);
    expect(await asked("most few some", ["qmost", "qsome"], sort)).toEqual(["+qsome"]);
    expect(await asked("most", ["qmost"], sort)).toEqual([]);
    // Six items of a hundred have it now, and perhaps fewer had it when the first page was made, which ordered by it.
    expect(await asked("mid few", ["qmid", "qfew"], sort)).toEqual(["+qmid +qfew"]);
  }
});

// The last test: it moves the comments to other ids.
it("a large board reads the newest items one by one where the engine would have to rank too many", async () => {
  const plan = (sort: "relevance" | "new", words: string[], communityId?: number) =>
    planSearch(
      db.reader(never),
      { type: "comments", communityId, authorId: undefined, required: words, excluded: [] },
      sort,
      words,
    );
  expect(await plan("relevance", ["qfew"])).toEqual({ by: "rank", words: ["qfew"] });
  expect(await plan("new", ["qfew"])).toEqual({ by: "newest", words: ["qfew"] });

  await pool.query("UPDATE search_comments SET id = id + 400000");
  expect(await plan("relevance", ["qfew"])).toEqual({ by: "rank", words: ["qfew"] });
  expect(await plan("new", ["qfew"])).toEqual({ by: "scan" });
  expect(await plan("new", ["qabsent"])).toEqual({ by: "newest", words: ["qabsent"] });

  await pool.query("UPDATE search_comments SET id = id + 600000");
  expect(await plan("relevance", ["qfew"])).toEqual({ by: "scan" });
  expect(await plan("relevance", ["qsome", "qabsent"])).toEqual({ by: "rank", words: ["qabsent", "qsome"] });
  // A place of few items is read as a whole.
  expect(await plan("relevance", ["qfew"], 2)).toEqual({ by: "scan" });
});
