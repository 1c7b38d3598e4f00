import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Load } from "../hammer/load.ts";
import { operatorToken } from "../ledger/support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { recount } from "../support/recount.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";
import { operate } from "./support.ts";

const folder = scratchFolder();
const siteUrl = "http://stoa.example";

/** What was acknowledged by now, by what tells each apart and no edit changes. */
function known({ done }: Load): string[] {
  return [
    ...[...done.agents.keys()].map((name) => `agent ${name}`),
    ...done.posts.map(({ id }) => `post ${id}`),
    ...done.comments.map(({ id }) => `comment ${id}`),
    ...[...done.sealed].map(([book, { seq, hash }]) => `receipt ${seq} ${book} ${hash}`),
  ];
}

async function stored({ rows }: TestDatabase): Promise<string[]> {
  const found = await rows<{ it: string }>(
    `SELECT CONCAT('agent ', name) AS it FROM agents
     UNION ALL SELECT CONCAT('post ', id) FROM posts
     UNION ALL SELECT CONCAT('post ', id) FROM removed_posts
     UNION ALL SELECT CONCAT('comment ', id) FROM comments
     UNION ALL SELECT CONCAT('comment ', id) FROM removed_comments
     UNION ALL SELECT CONCAT('receipt ', r.seq, ' ', CONVERT(s.book USING utf8mb4), ' ', r.hash)
       FROM receipts r JOIN ledger_sessions s ON s.seq = r.seq`,
  );
  return found.map(({ it }) => it);
}

it("a backup under load holds the whole database at one moment, and a service runs on its restore", async () => {
  const service = await startService({ config: { operatorToken, siteUrl } });
  let { url } = service;
  const load = new Load({ urls: () => [url], operatorToken, seed: 11 });
  await load.more(20, 3);
  const amid = join(folder, "amid.sql");
  let before: string[];
  // A small backup may be complete before the next write is. Then nothing happened meanwhile, and another one is made.
  do {
    before = known(load);
    expect(await operate(service.db.config, ["backup", amid])).toMatchObject({ status: 0, notes: [] });
  } while (known(load).length === before.length);
  await load.stop();
  expect(await load.check(service.db)).toEqual([]);
  expect(statSync(amid).mode & 0o777).toBe(0o600);

  const moment = await createTestDatabase();
  const restored = await operate(moment.config, ["restore", amid]);
  expect(restored).toMatchObject({ status: 0, notes: [] });
  expect(restored.out[1]).toMatch(/^the ledger verifies: receipts 1 to \d+$/);
  expect(await recount(moment)).toEqual([]);
  expect(await operate(moment.config, ["fsck"])).toMatchObject({ status: 0, out: [] });
  const rows = new Set(await stored(moment));
  expect(before.filter((each) => !rows.has(each))).toEqual([]);
  const all = new Set(await stored(service.db));
  expect([...rows].filter((each) => !all.has(each))).toEqual([]);

  // At rest nothing at all may be missing, and a retry is answered as it was by the first service.
  const rest = join(folder, "rest.sql");
  expect(await operate(service.db.config, ["backup", rest])).toMatchObject({ status: 0 });
  const copy = await createTestDatabase();
  expect(await operate(copy.config, ["restore", rest])).toMatchObject({ status: 0 });
  const second = await startService({ db: copy, config: { operatorToken, siteUrl } });
  url = second.url;
  expect(await load.check(copy)).toEqual([]);
  const { body } = await second.rest("/house/verify");
  expect(body).toMatchObject({ verify_ok: true, to: body.count });
  expect(await second.register("newcomer")).toMatchObject({ name: "newcomer" });
});
