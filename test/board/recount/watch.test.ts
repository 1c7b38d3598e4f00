// The background recount warns of wrong values and drops the warning when they are repaired.
import { expect, it } from "vitest";
import { operate } from "../../operator/support.ts";
import { insertPosts } from "../../support/posts.ts";
import { type Service, startService } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";

const overrides = { recountPace: { delayMs: 0, share: 1, roundMs: 20, lookMs: 20 } };

const metric = async ({ url }: Service, line: RegExp) => {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${"m".repeat(32)}` } });
  return line.exec(await response.text())?.[1];
};

it("wrong values cause a warning and a metric until they are repaired", async () => {
  const metrics = { host: "127.0.0.1", port: undefined, token: "m".repeat(32) };
  const service = await startService({ overrides, config: { metrics } });
  const { key } = await service.register();
  await service.rest("posts", { key, body: { title: "A post" } });
  const finished = () => metric(service, /^stoa_recount_finished_timestamp_seconds (\d.*)$/m);
  await waitUntil("a round", async () => (await finished()) !== undefined);
  expect((await service.rest("/readyz")).body).toEqual({ ok: true });
  expect(await metric(service, /^stoa_recount_findings (\d+)$/m)).toBe("0");

  await service.db.rows("UPDATE posts SET upvotes = 7");
  await service.db.rows("UPDATE agents SET karma = 3");
  const findings = () => metric(service, /^stoa_recount_findings (\d+)$/m);
  await waitUntil("both findings", async () => (await findings()) === "2");
  const { status, body } = await service.rest("/readyz");
  expect(status).toBe(200);
  expect(body.warning).toMatch(/^Stored values are wrong: .+ and 1 more\. Run: npm run stoa -- fsck --repair\.$/);
  expect(body.warning).toMatch(/posts.upvotes id 1: stored 7, counted 0|agents.karma id 1: stored 3, counted 0/);
  expect(await metric(service, /^stoa_warning\{name="counters"\} (\d)$/m)).toBe("1");
  const errors = service.log.filter(({ level }) => level === 50);
  // Each finding is logged once, however many rounds find it.
  expect(errors.map(({ msg }) => msg).sort()).toEqual([
    "a stored value is wrong: agents.karma id 1: stored 3, counted 0",
    "a stored value is wrong: posts.upvotes id 1: stored 7, counted 0",
  ]);

  expect(await operate(service.db.config, ["fsck", "--repair"])).toMatchObject({ status: 0 });
  await waitUntil("no finding", async () => (await findings()) === "0");
  expect((await service.rest("/readyz")).body).toEqual({ ok: true });
  expect(service.log.map(({ msg }) => msg)).toContain("all wrong stored values have been repaired");
});

it("a table that cannot be counted does not prevent the count of the others", async () => {
  const service = await startService({ overrides });
  // There are so many communities that a failure for each of them would take a minute.
  const communities = Array.from({ length: 3_000 }, (_, index) => [`c${index}`, "Title", "", 1]);
  await service.db.pool.query("INSERT INTO communities (name, title, description, created_at) VALUES ?", [communities]);
  await service.db.rows("ALTER TABLE posts DROP KEY posts_community_new");
  await service.db.rows("INSERT INTO agent_limits VALUES (77, 'posts', 0)");
  const ready = () => service.rest("/readyz");
  await waitUntil("the finding", async () => /there is no agent 77/.test((await ready()).body.warning));
  // The first count of communities may have begun before its index was gone.
  const failure = () => service.log.find(({ msg }) => msg === "a recount failed");
  await waitUntil("the failure", () => failure() !== undefined);
  expect(failure()).toMatchObject({ table: "communities" });
  await service.db.rows("DELETE FROM agent_limits");
  // Only a warning of the missing index may be left.
  await waitUntil("no finding", async () => !/agent 77/.test((await ready()).body.warning));
});

it("the recount reaches the last of many rows, survives a failing table, and stops without a warning", async () => {
  const service = await startService({ overrides });
  await insertPosts(
    service.db,
    Array.from({ length: 5_000 }, () => ({ communityId: 1, upvotes: 0, downvotes: 0, createdAt: Date.now() })),
  );
  await service.db.rows("UPDATE communities SET post_count = 5000");
  await service.db.rows("UPDATE agents SET posts = 5000");
  await service.db.rows("RENAME TABLE votes TO votes_away");
  const failures = () => service.log.filter(({ msg }) => msg === "a recount failed");
  await waitUntil("a failure", () => failures().length > 0);
  await service.db.rows("RENAME TABLE votes_away TO votes");
  await service.db.rows("UPDATE posts SET comment_count = 1 ORDER BY id DESC LIMIT 1");
  const ready = () => service.rest("/readyz");
  await waitUntil("the finding", async () => /id 5000: stored 1, counted 0/.test((await ready()).body.warning));
  await service.db.rows("UPDATE posts SET comment_count = 0 ORDER BY id DESC LIMIT 1");
  await waitUntil("no finding", async () => !("warning" in (await ready()).body));
  const { length } = service.log;
  await service.app.close();
  expect(service.log.slice(length).filter(({ level }) => Number(level) >= 40)).toEqual([]);
});
