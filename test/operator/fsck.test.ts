import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { describeSchema } from "../../src/store/schema/schema-dump.ts";
import { Load } from "../hammer/load.ts";
import { operatorToken } from "../ledger/support.ts";
import { createTestDatabase, openStore } from "../support/database.ts";
import { publishAll, startLogReplica } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { startService } from "../support/service.ts";
import { operate } from "./support.ts";

const { db, key: logKey } = await createLoggedDatabase();
const service = await startService({ db, config: { operatorToken } });
const { key } = await service.register();
await service.rest("posts", { key, body: { title: "A post" } });
/** It adds to the log when a test says so. A service would wait for a second before it takes the log over. */
const replica = await startLogReplica(db.config, logKey);
await publishAll(db, replica);

const fsck = (...args: string[]) => operate(service.db.config, ["fsck", ...args]);

it("fsck prints only its duration if it finds nothing", async () => {
  expect(await fsck()).toEqual({
    status: 0,
    out: [],
    notes: [expect.stringMatching(/^0 findings, 0 repaired, in \d+\.\d s$/)],
  });
  const { status, out } = await fsck("--json");
  expect(status).toBe(0);
  expect(out.map((line) => JSON.parse(line))).toEqual([
    { ok: true, findings: 0, repaired: 0, duration_ms: expect.any(Number) },
  ]);
});

it.each([[], ["--json"]])("fsck writes nothing that controls a terminal, whatever is stored %j", async (...options) => {
  const evil = "x\u001b[2J\n\u009b31m\u202e\u2028";
  await service.db.rows("INSERT INTO ledger_sessions VALUES (?, '2020-01-01', 5)", [Buffer.from(evil)]);
  await service.db.rows("UPDATE agents SET name = CONCAT(name, CHAR(27), CHAR(10))");
  try {
    const { out } = await fsck(...options);
    expect(out.filter((line) => /ledger_sessions|agents.name_key/.test(line))).toHaveLength(2);
    expect(out.filter((line) => /[\p{C}\p{Zl}]/u.test(line))).toEqual([]);
    if (options.length > 0) expect(out.map((line) => JSON.parse(line).key?.book)).toContain(evil);
  } finally {
    await service.db.rows("DELETE FROM ledger_sessions WHERE seq = 5");
    await service.db.rows("UPDATE agents SET name = LEFT(name, LENGTH(name) - 2)");
  }
});

it("fsck prints a line per finding, repairs derived values and leaves the rest", async () => {
  await service.db.rows("UPDATE posts SET upvotes = 9");
  await service.db.rows("INSERT INTO agent_limits VALUES (77, 'posts', 0)");
  await service.db.rows("INSERT INTO ledger_days VALUES ('2020-01-01', 5)");
  const lines = [
    "posts.upvotes id 1: stored 9, counted 0",
    "agent_limits.agent_id agent_id 77 kind posts: there is no agent 77",
    "ledger_days date 2020-01-01: receipt 5 does not seal it",
  ];
  expect(await fsck()).toMatchObject({ status: 1, out: lines });
  const reported = await fsck("--json", "--repair");
  expect(reported.status).toBe(1);
  expect(reported.out.map((line) => JSON.parse(line))).toEqual([
    {
      subject: "posts.upvotes",
      key: { id: 1 },
      problem: "stored 9, counted 0",
      stored: 9,
      counted: 0,
      repaired: true,
    },
    {
      subject: "agent_limits.agent_id",
      key: { agent_id: 77, kind: "posts" },
      problem: "there is no agent 77",
      repaired: false,
    },
    {
      subject: "ledger_days",
      key: { date: "2020-01-01" },
      problem: "receipt 5 does not seal it",
      repaired: true,
    },
    { ok: false, findings: 3, repaired: 2, duration_ms: expect.any(Number) },
  ]);
  expect(await fsck("--repair")).toMatchObject({ status: 1, out: [`${lines[1]}; not repaired`] });
  await service.db.rows("DELETE FROM agent_limits");
  await service.db.rows("UPDATE posts SET downvotes = 9");
  expect(await fsck("--repair")).toMatchObject({
    status: 0,
    out: ["posts.downvotes id 1: stored 9, counted 0; repaired"],
  });
  expect(await fsck()).toMatchObject({ status: 0, out: [] });
});

it("fsck finds missing parts of the schema, and restores triggers and computed columns", async () => {
  await service.db.rows("DROP TRIGGER receipts_are_not_deleted");
  await service.db.rows("ALTER TABLE posts MODIFY score BIGINT NULL, MODIFY hot DOUBLE NULL");
  await service.db.rows("ALTER TABLE posts DROP FOREIGN KEY posts_in_community");
  await service.db.rows("UPDATE posts SET score = 5");
  const lost = "posts: the schema lacks: foreign key posts_in_community (community_id) to communities (id)";
  const lines = [
    "posts: the schema lacks: score bigint null generated",
    "posts: the schema lacks: hot double null generated",
    lost,
    "receipts: the trigger receipts_are_not_deleted is missing",
  ];
  const { status, out } = await fsck();
  expect(status).toBe(1);
  expect(out.slice(0, 4)).toEqual(lines);
  expect(out.slice(4)).toEqual(["posts.score id 1: stored 5, counted 0"]);
  expect(await fsck("--repair")).toMatchObject({
    status: 1,
    out: lines.map((line) => `${line}; ${line === lost ? "not repaired" : "repaired"}`),
  });
  await service.db.rows(
    "ALTER TABLE posts ADD CONSTRAINT posts_in_community FOREIGN KEY (community_id) REFERENCES communities (id)",
  );
  expect(await fsck()).toMatchObject({ status: 0, out: [] });
  const db = openStore(service.db, 1);
  const expected = readFileSync(new URL("../../src/store/schema/schema.txt", import.meta.url), "utf8");
  expect(await describeSchema(db.reader(new AbortController().signal))).toBe(expected);
  expect((await service.rest("posts")).body.posts).toMatchObject([{ id: 1, score: 0 }]);
});

it("fsck continues without a missing table and index, and names the skipped checks", async () => {
  await service.db.rows("UPDATE communities SET post_count = post_count + 8");
  await service.db.rows("RENAME TABLE votes TO away, ledger_recoveries TO away_too");
  await service.db.rows("ALTER TABLE comments DROP KEY comments_author");
  await service.db.rows("DROP TRIGGER receipts_are_not_updated");
  const { status, out } = await fsck("--repair");
  await service.db.rows("RENAME TABLE away TO votes, away_too TO ledger_recoveries");
  await service.db.rows("ALTER TABLE comments ADD KEY comments_author (author_id, id)");
  expect(status).toBe(1);
  const leftOut = (table: string, what: string) =>
    expect.stringMatching(new RegExp(`^${table}: not checked: .*${what}.*; not repaired$`));
  expect(out).toEqual([
    "comments: the schema lacks: index comments_author (author_id, id); not repaired",
    "ledger_recoveries: the table is missing; not repaired",
    "votes: the table is missing; not repaired",
    "receipts: the trigger receipts_are_not_updated is missing; repaired",
    "communities.post_count id 1: stored 9, counted 1; repaired",
    leftOut("posts", "votes"),
    leftOut("votes", "votes"),
    leftOut("agents", "comments_author|votes"),
    leftOut("ledger_recoveries", "ledger_recoveries"),
  ]);
  expect(await fsck()).toMatchObject({ status: 0, out: [] });
});

it("fsck checks stored responses", async () => {
  const { key } = await service.register();
  const headers = { "idempotency-key": randomUUID() };
  const ask = { key, body: { title: "With a stored response" }, headers };
  await service.rest("posts", ask);
  const [row] = await service.db.rows<{ id: Buffer }>("SELECT id FROM idempotency_replies");
  const id = row?.id.toString("hex");
  const change = (sql: string) => service.db.rows(`UPDATE idempotency_replies SET ${sql}`);
  const damaged = `idempotency_replies id ${id}: the stored response is damaged; a repeat of its call is unavailable until the row is deleted`;

  await change("due_at = created_at - 1");
  const { out } = await fsck("--repair");
  expect(out).toEqual([
    expect.stringMatching(`^idempotency_replies.due_at id ${id}: stored \\d+, counted \\d+; repaired$`),
  ]);
  expect(await fsck()).toMatchObject({ status: 0, out: [] });
  // fsck-columns.test.ts damages every column.
  await change("created_at = created_at ^ 1024");
  expect(await fsck("--repair")).toMatchObject({ status: 1, out: [`${damaged}; not repaired`] });
  await change("created_at = created_at ^ 1024");
  expect((await service.rest("posts", ask)).headers.get("idempotency-replayed")).toBe("true");
});

it("fsck works with read access, names what it cannot see, and says that the run is not recorded", async () => {
  const user = `fsck_${randomBytes(4).toString("hex")}`;
  const { database } = service.db.config;
  const record = () => service.db.rows("SELECT * FROM last_fsck");
  const before = await record();
  await service.db.rows(`CREATE USER '${user}'@'%' IDENTIFIED BY 'secret'`);
  try {
    await service.db.rows(`GRANT SELECT ON ${database}.* TO '${user}'@'%'`);
    const { status, out, notes } = await operate({ ...service.db.config, user, password: "secret" }, ["fsck"]);
    expect([status, out]).toEqual([0, []]);
    expect(notes).toEqual([
      expect.stringContaining("cannot see triggers"),
      expect.stringMatching(/^this run is not recorded, .*: .*denied/),
      expect.stringContaining("0 findings"),
    ]);
  } finally {
    await service.db.rows(`DROP USER '${user}'@'%'`);
  }
  expect(await record()).toEqual(before);
});

describe("the exit status of fsck", () => {
  it("is 2 for unknown arguments", async () => {
    expect(await fsck("--all")).toMatchObject({ status: 2, out: [] });
    expect(await fsck("posts")).toMatchObject({ status: 2, out: [] });
  });

  it("is 3 if the database cannot be read", async () => {
    const away = { ...service.db.config, host: "127.0.0.1", port: 9, socketPath: undefined };
    expect(await operate(away as never, ["fsck"])).toMatchObject({ status: 3, out: [] });
    const empty = await createTestDatabase();
    const { status, notes } = await operate(empty.config, ["fsck"]);
    expect(status).toBe(3);
    expect(notes).toEqual([expect.stringContaining("the database is not migrated")]);
  });
});

it("fsck finds nothing while agents and sealers write, and the log grows", async () => {
  const load = new Load({ urls: () => [service.url], operatorToken, seed: 5 });
  let runs = 0;
  for (const enough = () => load.done.posts.length > 10 && runs > 1; !enough(); runs++) {
    const [outcome] = await Promise.all([fsck(...(runs % 2 === 0 ? ["--repair"] : [])), replica.run()]);
    expect(outcome).toMatchObject({ status: 0, out: [] });
  }
  await load.stop();
  expect(load.faults).toEqual([]);
});
