import { mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { startPrivateServer } from "../../src/private-database/server/private-server.ts";
import { ensureDatabase } from "../../src/private-database/setup/ensure-database.ts";
import { operateWith } from "../operator/support.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import { askRest, connectTo } from "../support/service.ts";
import { maySkipSmallDisk, mountSmallDisk } from "../support/tmpfs.ts";
import { waitUntil } from "../support/wait.ts";

const MIB = 1024 * 1024;
const skipsSmallDisk = maySkipSmallDisk();
const operatorToken = "test-operator-token-0123456789-abcdef";
const refusedMessage =
  "The disk of the service is almost full. Writes are refused until there is space again. Reads still work.";
const refused = { ok: false, error: "unavailable", message: refusedMessage, retry_after_seconds: 10 };
const early = { body: { title: "Before the disk was full" }, headers: { "Idempotency-Key": "before-it-was-full" } };
const session = { book: "ledger", session: "2026-01-01", note: "A note.", source: "test" };

it("the service refuses every write and serves every read while free space is below the minimum", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "stoa-full-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));

  // No disk has this much space. A first start cannot create the database and says why it ends.
  const hopeless = start(dataDir, { STOA_MIN_FREE_MIB: "1000000" });
  await hopeless.exited;
  expect(hopeless.output).toMatch(
    /The database cannot be migrated\. The disk of the private database has \d+ MiB free\. Writes are refused until it has 1100000 MiB/,
  );

  const before = start(dataDir, { STOA_MIN_FREE_MIB: "off" });
  const { key, post } = await fill(await before.url());
  await before.end("SIGINT");

  const service = start(dataDir, { STOA_MIN_FREE_MIB: "1000000" });
  const url = await service.url();
  expect(await askRest(url, `posts/${post.id}`)).toMatchObject({ status: 200, body: { post: { title: post.title } } });
  expect((await askRest(url, "agents/me", { key })).status).toBe(200);
  expect((await askRest(url, "/house/verify")).body.verify_ok).toBe(true);
  const warning = expect.stringContaining("MiB free. Writes are refused until");
  expect(await askRest(url, "/readyz")).toMatchObject({ status: 200, body: { ok: true, warning } });
  const scrape = fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${operatorToken}` } });
  const metrics = await (await scrape).text();
  expect(metrics).toContain('stoa_warning{name="disk"} 1');
  expect(metrics).toMatch(/^stoa_disk_free_bytes \d+$/m);
  expect(metrics).toContain(`stoa_disk_min_free_bytes ${1_000_000 * MIB}`);

  for (const [path, content] of [
    ["agents/register", { name: "newcomer" }],
    ["posts", { title: "After the disk was full" }],
    [`posts/${post.id}/comments`, { body: "A comment" }],
    [`posts/${post.id}/upvote`, {}],
    ["communities", { name: "place", title: "A place" }],
    ["agents/me/key", {}],
  ] as const) {
    const reply = await askRest(url, path, { key, body: content });
    expect([path, reply.status, reply.body, reply.headers.get("retry-after")]).toEqual([path, 503, refused, "10"]);
  }
  // A stored response is replayed. A new write with an idempotency key is refused like any other.
  const replayed = await askRest(url, "posts", { ...early, key });
  expect(replayed).toMatchObject({ status: 201, body: { post: { id: post.id } } });
  expect(replayed.headers.get("idempotency-replayed")).toBe("true");
  const headers = { "Idempotency-Key": "after-the-disk-was-full" };
  const fresh = await askRest(url, "posts", { ...early, key, headers });
  expect(fresh).toMatchObject({ status: 503, body: refused });

  for (const protocol of ["connect", "grpc"] as const) {
    const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    const post = connectTo(url, PostService, protocol).createPost({ title: "Over RPC" }, bearer(key));
    await expect(post).rejects.toThrow(`[unavailable] ${refusedMessage}`);
    const seal = connectTo(url, LedgerOperatorService, protocol).sealSession(session, bearer(operatorToken));
    await expect(seal).rejects.toThrow(`[unavailable] ${refusedMessage}`);
  }
  // The commands run beside the service, then without it.
  const file = await expectCommandsRefused(dataDir);
  await service.end("SIGINT");
  for (const args of [
    ["fsck", "--repair"],
    ["restore", file],
  ]) {
    const { status, notes } = await operateOn(dataDir, args);
    expect([status, notes.at(-1)]).toEqual([3, expect.stringContaining("Nothing is written while")]);
  }
});

it.skipIf(skipsSmallDisk)(
  "the service survives a disk that others fill to the last byte, and writes again",
  async () => {
    const disk = mountSmallDisk(384);
    const dataDir = join(disk.folder, "data");
    const service = start(dataDir, {});
    onTestFinished(async () => {
      await service.end("SIGINT");
      disk.remove();
    });
    const url = await service.url();
    const { key, post } = await fill(url);
    const write = () => askRest(url, "posts", { key, body: { title: "A post", body: "x".repeat(10_000) } });
    const pid = () => readFileSync(join(dataDir, "mysql/server.pid"), "utf8");
    const first = pid();

    disk.fillTo(100);
    await waitUntil("writes to be refused", async () => (await write()).status === 503);
    // The reserve is still free.
    expect(statfsSync(disk.folder).bavail * statfsSync(disk.folder).bsize).toBeGreaterThan(90 * MIB);
    expect((await write()).body).toEqual(refused);

    disk.fillTo(0);
    expect((await askRest(url, `posts/${post.id}`)).status).toBe(200);
    expect((await askRest(url, "posts?sort=top&t=day")).status).toBe(200);
    expect((await askRest(url, "/readyz")).status).toBe(200);
    expect((await write()).body).toEqual(refused);

    disk.empty();
    await waitUntil("writes to be back", async () => (await write()).status === 201);
    expect((await askRest(url, "/readyz")).body).toEqual({ ok: true });
    expect(pid()).toBe(first);

    // A start needs little space and serves the existing data.
    await service.end("SIGINT");
    disk.fillTo(30);
    const next = start(dataDir, {});
    onTestFinished(() => next.end("SIGINT"));
    expect((await askRest(await next.url(), `posts/${post.id}`)).status).toBe(200);
    expect((await askRest(await next.url(), "posts", { key, body: { title: "A post" } })).body).toEqual(refused);
  },
);

it.skipIf(skipsSmallDisk)("a full disk of an external database server is answered with `unavailable`", async () => {
  const disk = mountSmallDisk(256);
  const server = await startPrivateServer({ dataDir: join(disk.folder, "data"), log() {} });
  const address = { socketPath: server.socketPath, user: server.user, database: "stoa" };
  await ensureDatabase({ socketPath: server.socketPath, user: server.user }, "stoa");
  const service = start(disk.folder, { STOA_DATABASE_URL: urlOf(address) });
  onTestFinished(async () => {
    await service.end("SIGINT");
    await server.stop();
    disk.remove();
  });
  const url = await service.url();
  const { key, post } = await fill(url);
  const write = () => askRest(url, "posts", { key, body: { title: "A post", body: "x".repeat(1_000) } });

  disk.fillTo(0);
  // The posts are short: MariaDB 10.11 crashes when a row needs its own pages and the disk is full.
  const replies: string[] = [];
  await waitUntil("a table that cannot grow", async () => {
    const { status, body } = await write();
    if (status !== 201) replies.push(`${status} ${body.error}: ${body.message}`);
    return replies.length === 5;
  });
  expect(new Set(replies)).toEqual(new Set(["503 unavailable: The database does not answer: the disk is full."]));
  expect((await askRest(url, `posts/${post.id}`)).status).toBe(200);
  expect((await askRest(url, "/readyz")).status).toBe(200);
  disk.empty();
  expect((await write()).status).toBe(201);
});

it.skipIf(skipsSmallDisk)(
  "the start fails with a clear message when the disk is too small for a new database",
  async () => {
    const disk = mountSmallDisk(64);
    onTestFinished(() => disk.remove());
    const service = start(join(disk.folder, "data"), {});
    await service.exited;
    expect(service.output).toMatch(
      /^a new \w+ database takes \d+ MiB, and the disk of \S+ has 6\d MiB free; free some space or set STOA_DATA_DIR/m,
    );
  },
);

const operateOn = (dataDir: string, args: string[]) =>
  operateWith({ STOA_DATA_DIR: dataDir, STOA_MIN_FREE_MIB: "1000000" }, args);

/** Expects operator commands that write to be refused, and the others to work. @returns the path of the backup made */
async function expectCommandsRefused(dataDir: string): Promise<string> {
  for (const args of [
    ["fsck", "--repair"],
    ["seal", "--catch-up"],
    ["recover", "--abandon", `1:${"0".repeat(64)}`, "--note", "A note."],
  ]) {
    const { status, notes } = await operateOn(dataDir, args);
    expect([args, status]).toEqual([args, 3]);
    expect(notes).toContainEqual(expect.stringMatching(/^The disk of the private database has \d+ MiB free/));
    expect(notes.at(-1)).toBe(
      `stoa ${args[0]}: Nothing is written while the disk is almost full. Free some space and run the command again.`,
    );
  }
  const file = `${dataDir}.sql`;
  onTestFinished(() => rmSync(file, { force: true }));
  for (const args of [["fsck"], ["seal"], ["recover"], ["backup", file]]) {
    const { status, notes } = await operateOn(dataDir, args);
    expect([args, status]).toEqual([args, 0]);
    if (args[0] === "fsck")
      expect(notes).toContainEqual(expect.stringMatching(/^this run is not recorded, .*almost full/));
  }
  return file;
}

function start(dataDir: string, environment: Record<string, string>): ServiceProcess {
  const service = new ServiceProcess({
    STOA_DATA_DIR: dataDir,
    STOA_OPERATOR_TOKEN: operatorToken,
    STOA_METRICS_PORT: "none",
    STOA_METRICS_TOKEN: operatorToken,
    STOA_RATE_LIMITS: "off",
    ...environment,
  });
  // The service must end before the test's folder is removed, even if the test fails. Ending it twice is harmless.
  onTestFinished(() => service.end("SIGINT"));
  return service;
}

async function fill(url: string) {
  const key: string = (await askRest(url, "agents/register", { body: { name: "early-bird" } })).body.api_key;
  const { body } = await askRest(url, "posts", { ...early, key });
  return { key, post: body.post as { id: number; title: string } };
}
