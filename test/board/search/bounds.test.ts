// A search that finds more than the server may remember of one. The server that all test files share gets the smallest limit
// there is meanwhile: no other file has so many items that hold one word.
import { afterAll, expect, it } from "vitest";
import { tokensOf } from "../../../src/board/search/tokens.ts";
import { startService } from "../../support/service.ts";

const items = 20_000;

const service = await startService();
await service.register("Zeno");
const { pool, rows } = service.db;
const numbers = Array.from({ length: items }, (_, index) => index + 1);
const texts = numbers.map((id) => (id > items - 1_500 ? "recent words" : "the elder stoics"));
for (let from = 0; from < items; from += 2_000) {
  const some = numbers.slice(from, from + 2_000);
  const posts = some.map((id) => [id, 1, 1, "A post", texts[id - 1], id]);
  await pool.query("INSERT INTO posts (id, community_id, author_id, title, body, created_at) VALUES ?", [posts]);
  const found = some.map((id) => [id, 1, 1, 0, tokensOf(`A post\nA post\nA post\n${texts[id - 1]}`)]);
  await pool.query("INSERT INTO search_posts (id, community_id, author_id, text_version, tokens) VALUES ?", [found]);
}
const sql = "SELECT @@GLOBAL.innodb_ft_result_cache_limit AS `limit`";
const before = (await rows<{ limit: number }>(sql))[0]?.limit as number;
await pool.query("SET GLOBAL innodb_ft_result_cache_limit = 1000000");
afterAll(async () => {
  await service.db.pool.query(`SET GLOBAL innodb_ft_result_cache_limit = ${before}`);
});

it.each(["relevance", "new"])("finds the newest, page by page, in the order %s", async (sort) => {
  const ids: number[] = [];
  let cursor = "";
  while (ids.length < 60) {
    const { status, body } = await service.rest(`search?q=stoics&sort=${sort}&limit=25${cursor}`);
    expect(status).toBe(200);
    ids.push(...body.posts.map(({ id }: { id: number }) => id));
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`;
  }
  const newest = items - 1_500;
  expect(ids).toEqual(ids.map((_, index) => newest - index));
});
