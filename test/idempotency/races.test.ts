// The same call many times at once, through two replicas, and what becomes of the others when one of them fails.
import { randomUUID } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it, type TestContext } from "vitest";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { asOperator, startLedger, verifyLedger } from "../ledger/support.ts";
import { askText } from "../services/replays.ts";
import { startCuttingProxy } from "../support/cutting-proxy.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../support/database.ts";
import { recount, rowCounts } from "../support/recount.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const db = await createDatabaseWithSchema();
const [service, replica] = await Promise.all([startLedger({ db }), startLedger({ db })]);
const agent = await service.register();
const postId: number = (await service.rest("posts", { key: agent.key, body: { title: "Discussed" } })).body.post.id;

const short = () => randomUUID().slice(0, 8);
const post = (title: string, idempotencyKey: string, at: Service = service) =>
  askText(at.url, "posts", { body: { title }, key: agent.key, headers: { "idempotency-key": idempotencyKey } });
const postsTitled = async (title: string) => (await db.rows("SELECT id FROM posts WHERE title = ?", [title])).length;

describe("ten repeats at once through two replicas", () => {
  it.each([
    ["agents", "agents/register", () => ({ name: `agent-${short()}` })],
    ["communities", "communities", () => ({ name: `c-${short()}`, title: "A place" })],
    ["posts", "posts", () => ({ title: `Post ${short()}` })],
    ["comments", "posts/ID/comments", () => ({ body: "A comment" })],
  ])("make one of the %s, and nine replays of the same bytes", async (table, path, make) => {
    const body = make();
    const headers = { "idempotency-key": randomUUID() };
    const before = await rowCounts(service.db);
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        askText((i % 2 === 0 ? service : replica).url, path.replace("ID", String(postId)), {
          body,
          headers,
          key: path === "agents/register" ? undefined : agent.key,
        }),
      ),
    );
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(replies[0]?.status).toBe(201);
    expect(replies.filter(({ replayed }) => replayed === "true")).toHaveLength(9);
    expect(await rowCounts(service.db)).toEqual({ ...before, [table]: (before[table] as number) + 1 });
    expect(await recount(service.db)).toEqual([]);
  });

  it("seal one session", async () => {
    const headers = { ...asOperator.headers, "idempotency-key": randomUUID() };
    const before = (await verifyLedger(service.db)).length;
    let replays = 0;
    const onHeader = (sent: Headers) => {
      if (sent.get("idempotency-replayed") === "true") replays += 1;
    };
    const request = { book: `book ${short()}`, session: "2026-01-05", source: "feed:test" };
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        (i % 2 === 0 ? service : replica)
          .connect(LedgerOperatorService, "grpc")
          .sealSession(request, { headers, onHeader }),
      ),
    );
    expect([new Set(replies.map(({ receipt }) => receipt?.hash)).size, replays]).toEqual([1, 9]);
    expect(await verifyLedger(service.db)).toHaveLength(before + 1);
  });

  it("of a call that fails all fail, and leave the key to be used", async () => {
    const name = `c-${short()}`;
    const ask = () =>
      askText(service.url, "posts", {
        body: { title: "Nowhere", community: name },
        key: agent.key,
        headers: { "idempotency-key": key },
      });
    const key = randomUUID();
    const replies = await Promise.all(Array.from({ length: 10 }, ask));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([404]));
    await service.rest("communities", { key: agent.key, body: { name, title: "Somewhere" } });
    const made = await Promise.all(Array.from({ length: 10 }, ask));
    expect(new Set(made.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(made.filter(({ replayed }) => replayed === null)).toHaveLength(1);
  });
});

/** Locks the community that posts go to, so that calls stand still in their midst. */
async function lockGeneral(
  db: TestDatabase,
  { onTestFinished }: Pick<TestContext, "onTestFinished">,
): Promise<{ release(): Promise<void> }> {
  const connection = await db.pool.getConnection();
  await connection.beginTransaction();
  await connection.query("SELECT id FROM communities WHERE name = 'general' FOR UPDATE");
  let held = true;
  const release = async () => {
    if (!held) return;
    held = false;
    await connection.rollback();
    connection.release();
  };
  // Also where the test fails before: the others would wait for it.
  onTestFinished(release);
  return { release };
}

/** Resolves once so many statements that begin like this run in the database, waiting for a lock. */
function waiting(db: TestDatabase, statement: RegExp, count = 1, isOver = () => false): Promise<void> {
  return waitUntil(`${count} that wait: ${statement}`, async () => {
    const running = await db.rows<{ db: string | null; Info: string | null }>("SHOW FULL PROCESSLIST");
    const those = running.filter((each) => each.db === db.config.database && statement.test(each.Info ?? ""));
    return those.length === count || isOver();
  });
}

// The foreign key of a post reads its community, which the test has locked.
const inserting = /^INSERT INTO posts/;
const claiming = /^INSERT INTO idempotency_replies/;

describe("a repeat that comes while the first call is in its midst", () => {
  it("waits for it, and gets its reply", async (test) => {
    const [title, key] = [`Post ${short()}`, randomUUID()];
    const lock = await lockGeneral(service.db, test);
    const first = post(title, key);
    await waiting(service.db, inserting);
    const second = post(title, key, replica);
    await waiting(service.db, claiming);
    await lock.release();
    expect(await second).toEqual({ ...(await first), replayed: "true" });
    expect(await postsTitled(title)).toBe(1);
  });

  it("with other content is not refused until the first call is done", async (test) => {
    const [title, key] = [`Post ${short()}`, randomUUID()];
    const lock = await lockGeneral(service.db, test);
    const first = post(title, key);
    await waiting(service.db, inserting);
    const second = post("Something else", key, replica);
    await waiting(service.db, claiming);
    await lock.release();
    expect([(await first).status, (await second).status]).toEqual([201, 400]);
  });

  it("is the first if the first call loses its COMMIT, and that one then gets the replay", async (test) => {
    const [title, key] = [`Post ${short()}`, randomUUID()];
    const proxy = await startCuttingProxy(service.db.config);
    const cut = await startService({ db: service.db, config: { database: proxy.config } });
    const lock = await lockGeneral(service.db, test);
    const first = post(title, key, cut);
    await waiting(service.db, inserting);
    const second = post(title, key, replica);
    await waiting(service.db, claiming);
    proxy.cutAtText("COMMIT", "before");
    await lock.release();
    const replies = await Promise.all([first, second]);
    expect(proxy.wasCut()).toBe(true);
    expect(replies.filter(({ replayed }) => replayed === null)).toHaveLength(1);
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(await postsTitled(title)).toBe(1);
  });

  it("takes its place when its client goes away", async (test) => {
    const [title, key] = [`Post ${short()}`, randomUUID()];
    const lock = await lockGeneral(service.db, test);
    const leave = new AbortController();
    const first = fetch(`${service.url}/api/v1/posts`, {
      method: "POST",
      body: JSON.stringify({ title }),
      headers: { authorization: `Bearer ${agent.key}`, "idempotency-key": key },
      signal: leave.signal,
    }).catch((error: Error) => error.name);
    await waiting(service.db, inserting);
    const second = post(title, key, replica);
    await waiting(service.db, claiming);
    leave.abort();
    expect(await first).toBe("AbortError");
    // The service has noticed when the second call has got the claim. It then waits for the community.
    await waiting(service.db, claiming, 0);
    await lock.release();
    expect(await second).toMatchObject({ status: 201, replayed: null });
    expect(await postsTitled(title)).toBe(1);
    expect(await recount(service.db)).toEqual([]);
  });

  it("takes its place when its deadline passes", async (test) => {
    const [title, key] = [`Post ${short()}`, randomUUID()];
    const headers = { authorization: `Bearer ${agent.key}`, "idempotency-key": key };
    const lock = await lockGeneral(service.db, test);
    const first = service.connect(PostService, "grpc").createPost({ title }, { headers, timeoutMs: 1_500 });
    const outcome = first.catch((error: unknown) => ConnectError.from(error).code);
    let isOver = false;
    void outcome.then(() => {
      isOver = true;
    });
    // On a busy machine, the deadline may pass before. The second call is then the first to wait.
    await waiting(service.db, inserting, 1, () => isOver);
    const second = post(title, key, replica);
    expect(await outcome).toBe(Code.DeadlineExceeded);
    await waiting(service.db, inserting);
    await lock.release();
    expect(await second).toMatchObject({ status: 201, replayed: null });
    expect(await postsTitled(title)).toBe(1);
  });

  it("is 503 with a time to wait, as is the first, when the wait for a lock takes too long; nothing is half-done", async (test) => {
    const [title, key] = [`Post ${short()}`, randomUUID()];
    const impatient = await startService({ db, config: { databaseTimeoutMs: 2_000 } });
    const kept = await db.rows("SELECT id FROM idempotency_replies");
    const lock = await lockGeneral(db, test);
    const replies = await Promise.all([post(title, key, impatient), post(title, key, impatient)]);
    for (const { status, text } of replies) {
      expect([status, JSON.parse(text)]).toMatchObject([503, { error: "unavailable", retry_after_seconds: 1 }]);
    }
    await lock.release();
    expect(await postsTitled(title)).toBe(0);
    expect(await db.rows("SELECT id FROM idempotency_replies")).toHaveLength(kept.length);
    expect(await post(title, key)).toMatchObject({ status: 201, replayed: null });
    expect(await post(title, key)).toMatchObject({ status: 201, replayed: "true" });
  });
});
