// A run of fsck is recorded, and every service shows it in /readyz and in its metrics.
import { expect, it } from "vitest";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { operate } from "./support.ts";

const token = "m".repeat(32);
const config = { metrics: { host: "127.0.0.1", port: undefined, token } };
const overrides = { databaseLookMs: 20 };

const service = await startService({ config, overrides });
const { key } = await service.register();
await service.rest("posts", { key, body: { title: "A post" } });

const fsck = (...args: string[]) => operate(service.db.config, ["fsck", ...args]);
const warning = async ({ rest } = service) => (await rest("/readyz")).body.warning;

/** The metrics of fsck, by their names without what they have in common. */
async function metrics({ url } = service): Promise<Record<string, number>> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  const lines = (await response.text()).matchAll(/^stoa_fsck_(\w+) (\S+)$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]));
}

const record = async () => (await service.db.rows<{ findings: number; kinds: string }>("SELECT * FROM last_fsck"))[0];

it("before the first run, the time of the last run is 0 and nothing else is known", async () => {
  expect(await metrics()).toEqual({
    finished_timestamp_seconds: 0,
    duration_seconds: Number.NaN,
    findings: Number.NaN,
  });
  expect(await warning()).toBeUndefined();
});

it("a run without findings has its time and duration in the metrics, and causes no warning", async () => {
  const before = Date.now();
  expect(await fsck()).toMatchObject({ status: 0 });
  await waitUntil("the metrics", async () => (await metrics()).findings === 0);
  const { finished_timestamp_seconds: at = 0, duration_seconds: took = -1 } = await metrics();
  expect(at * 1000).toBeGreaterThanOrEqual(before);
  expect(at * 1000).toBeLessThanOrEqual(Date.now());
  expect(took * 1000).toBeGreaterThanOrEqual(0);
  expect(took * 1000).toBeLessThanOrEqual(Date.now() - before);
  expect(await warning()).toBeUndefined();
});

it("findings are a warning of each service that names their kinds, until a run leaves none", async () => {
  await service.db.rows("UPDATE posts SET upvotes = 9, downvotes = 2");
  await service.db.rows("INSERT INTO agent_limits VALUES (77, 'posts', 0), (78, 'posts', 0)");
  expect(await fsck()).toMatchObject({ status: 1 });
  expect(await record()).toMatchObject({ findings: 4, repaired: 0 });
  await waitUntil("the warning", async () => (await warning()) !== undefined);
  const named = "posts.upvotes: 1, posts.downvotes: 1, agent_limits.agent_id: 2";
  const text = new RegExp(
    `^fsck has found what is wrong in the database \\(${named}\\) at \\d{4}-.*Z. Run: npm run stoa`,
  );
  expect(await warning()).toMatch(text);
  expect(await metrics()).toMatchObject({ findings: 4 });
  // A service that starts later knows it from its start on.
  const later = await startService({ db: service.db, config, overrides: { databaseLookMs: 3_600_000 } });
  expect(await warning(later)).toMatch(text);
  expect(await metrics(later)).toMatchObject({ findings: 4 });

  expect(await fsck("--repair")).toMatchObject({ status: 1 });
  expect(await record()).toMatchObject({ findings: 4, repaired: 2 });
  expect(JSON.parse((await record())?.kinds ?? "")).toEqual({
    "posts.upvotes": { findings: 1, repaired: 1 },
    "posts.downvotes": { findings: 1, repaired: 1 },
    "agent_limits.agent_id": { findings: 2, repaired: 0 },
  });
  await waitUntil("the repair", async () => (await metrics()).findings === 2);
  expect(await warning()).toContain("(agent_limits.agent_id: 2)");

  await service.db.rows("DELETE FROM agent_limits");
  expect(await fsck()).toMatchObject({ status: 0 });
  await waitUntil("no warning", async () => (await warning()) === undefined);
  expect(await metrics()).toMatchObject({ findings: 0 });
});

it("a run is not recorded, and the last one stays, if it is interrupted or its table is missing", async () => {
  const before = await record();
  const interrupted = AbortSignal.abort(new Error("stop"));
  expect(await operate(service.db.config, ["fsck"], interrupted)).toMatchObject({ status: 3 });
  await service.db.rows("RENAME TABLE last_fsck TO away");
  const { status, out, notes } = await fsck();
  await service.db.rows("RENAME TABLE away TO last_fsck");
  expect([status, out]).toEqual([1, ["last_fsck: the table is missing"]]);
  expect(notes).toContainEqual(expect.stringMatching(/^this run is not recorded/));
  expect(await record()).toEqual(before);
});

it("every wrong row of many is found, wherever it is", async () => {
  // One look at a table returns about 1,000 findings. The last row is far away.
  const agents = Array.from({ length: 600 }, (_, n) => 1_000 + n);
  const rows = [...[1, 2].flatMap((post) => agents.map((agent) => [post, agent, 1])), [90_000_000, 1_000, 1]];
  await service.db.pool.query("INSERT INTO votes (post_id, agent_id, value) VALUES ?", [rows]);
  const { out } = await fsck();
  const lines = out.filter((line) => /^votes\.agent_id post_id \d+ agent_id (\d+): there is no agent \1$/.test(line));
  expect(new Set(lines).size).toBe(rows.length);
});
