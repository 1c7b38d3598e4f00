import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Acknowledged } from "../hammer/acknowledged.ts";
import { HammerAgent } from "../hammer/agent.ts";
import { audit, auditReplays } from "../hammer/audit.ts";
import { Caller, newTally } from "../hammer/caller.ts";
import { Random } from "../hammer/random.ts";
import { Sealer } from "../hammer/sealer.ts";
import { operatorToken } from "../ledger/support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { recount } from "../support/recount.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { operate } from "./support.ts";

const folder = scratchFolder();
const siteUrl = "http://stoa.example";

/** What was acknowledged by now, by what tells each apart and no edit changes. */
function known(done: Acknowledged, sealers: Sealer[]): string[] {
  return [
    ...[...done.agents.keys()].map((name) => `agent ${name}`),
    ...done.posts.map(({ id }) => `post ${id}`),
    ...done.comments.map(({ id }) => `comment ${id}`),
    ...sealers.flatMap(({ sealed }) => [...sealed].map(([book, { seq, hash }]) => `receipt ${seq} ${book} ${hash}`)),
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
  const urls = () => [service.url];
  const random = new Random(11);
  const done = new Acknowledged();
  const tally = newTally();
  const agents = Array.from({ length: 4 }, (_, index) => {
    const ways = new Random(random.below(2 ** 32));
    return new HammerAgent(`a${index}x`, new Caller(urls, ways, tally), ways, done);
  });
  const sealers = [new Sealer("book", urls, random, operatorToken)];
  let stopped = false;
  const load = Promise.all([...agents, ...sealers].map((each) => each.run(() => stopped)));
  await waitUntil("some posts and receipts", () => done.posts.length > 20 && (sealers[0]?.sealed.size ?? 0) > 2);

  const amid = join(folder, "amid.sql");
  let before: string[];
  let during: string[];
  // A small backup may be complete before the next write is. Then nothing happened meanwhile, and another one is made.
  do {
    before = known(done, sealers);
    expect(await operate(service.db.config, ["backup", amid])).toMatchObject({ status: 0, notes: [] });
    during = known(done, sealers);
  } while (during.length === before.length);
  stopped = true;
  await load;
  expect([...tally.faults, ...done.faults]).toEqual([]);
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
  expect(await audit(copy, done, sealers)).toEqual([]);
  const second = await startService({ db: copy, config: { operatorToken, siteUrl } });
  const caller = new Caller(() => [second.url], random, tally);
  expect(await auditReplays(caller, done)).toEqual([]);
  caller.close();
  const { body } = await second.rest("/house/verify");
  expect(body).toMatchObject({ verify_ok: true, to: body.count });
  expect(await second.register("newcomer")).toMatchObject({ name: "newcomer" });
});
