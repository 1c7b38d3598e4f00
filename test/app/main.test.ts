import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ServiceProcess, untilSays } from "../support/process.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

/** Returns the ids of the processes whose command line contains `text`. */
function processesWith(text: string): number[] {
  const found: number[] = [];
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text)) found.push(Number(pid));
    } catch {
      // The process ended in the meantime.
    }
  }
  return found;
}

/** A module that names the parts of Node that were loaded, when the process ends. */
const tellModules = `data:text/javascript,${encodeURIComponent(`
  process.once("exit", () => console.log("Modules: " + process.moduleLoadList.join(" ")));`)}`;

const dataDir = mkdtempSync(join(tmpdir(), "stoa-main-"));
const processes: ServiceProcess[] = [];
let key: string;

function start(environment?: Record<string, string>): ServiceProcess {
  const started = new ServiceProcess({ STOA_DATA_DIR: dataDir, ...environment });
  processes.push(started);
  return started;
}
const endAll = async () => {
  for (const each of processes.splice(0)) await each.end("SIGINT");
};
const databases = () => processesWith(join(dataDir, "mysql"));
afterAll(async () => {
  await endAll();
  rmSync(dataDir, { recursive: true });
});

// The order counts: all starts use one folder.
it("a service starts on an empty folder, serves, and stops on Ctrl-C together with its database", async () => {
  const first = start();
  const url = await first.url();
  key = (await askRest(url, "agents/register", { body: { name: "Ada" } })).body.api_key;
  expect((await askRest(url, "posts", { key, body: { title: "Kept" } })).status).toBe(201);
  expect(processesWith(dataDir).length).toBeGreaterThan(0);
  first.signal("SIGINT");
  expect(await first.exited).toBe(0);
  expect(processesWith(dataDir)).toEqual([]);
  expect(first.output).not.toContain(key);
});

describe("a service that starts again", () => {
  let again: ServiceProcess;
  let url: string;
  beforeAll(async () => {
    again = start({ NODE_OPTIONS: `--import=${tellModules}`, STOA_PROT: "hunter2" });
    url = await again.url();
  });
  afterAll(endAll);

  it("has all its data, and creates, migrates and stops nothing", async () => {
    expect((await askRest(url, "agents/me", { key })).body.agent).toMatchObject({ name: "Ada", posts: 1 });
    expect(again.output).not.toMatch(/preparing a |migrating the database|stopping the database server/);
  });

  it("has named an unknown setting in its log, without its value", () => {
    expect(again.output).toContain("STOA_PROT is not a setting of Stoa and has no effect; did you mean STOA_PORT?");
    expect(again.output).not.toContain("hunter2");
  });

  it("refuses a second one on its folder with a clear message", async () => {
    const second = start();
    expect(await second.exited).toBe(1);
    expect(second.output).toMatch(new RegExp(`in use by process ${again.pid}`));
    expect((await askRest(url, "/readyz")).status).toBe(200);
  });

  it("answers 503 while its database is down, and serves again when the database is back", async () => {
    const [database = 0] = databases();
    process.kill(database, "SIGKILL");
    // Each response in between is a success or a 503.
    const statuses = new Set<number>();
    await waitUntil("a write to the new database", async () => {
      const { status, body } = await askRest(url, "posts", { key, body: { title: "Through the storm" } });
      statuses.add(status);
      if (status === 503) expect(body).toMatchObject({ ok: false, error: "unavailable", retry_after_seconds: 1 });
      return status === 201 && !databases().includes(database);
    });
    expect([...statuses].filter((status) => status !== 201 && status !== 503)).toEqual([]);
    await waitUntil("readiness", async () => (await askRest(url, "/readyz")).status === 200);
  });

  it("has not loaded the compiler of TypeScript, which takes memory and time", async () => {
    await again.end("SIGINT");
    expect(again.output).toContain("Modules: ");
    expect(again.output).not.toContain("internal/deps/amaro");
  });
});

describe("a service", () => {
  afterEach(endAll);

  it("loses no data when it is killed, and the next start leaves one database running and ends with it", async () => {
    const killed = start();
    const posted = await askRest(await killed.url(), "posts", { key, body: { title: "Acknowledged" } });
    killed.signal("SIGKILL");
    await killed.exited;
    const orphans = processesWith(dataDir);
    expect(orphans).toHaveLength(1);
    const next = start({ STOA_DRAIN_SECONDS: "1" });
    const url = await next.url();
    expect((await askRest(url, `posts/${posted.body.post.id}`)).body.post.title).toBe("Acknowledged");
    expect(databases()).toHaveLength(1);
    expect(databases()).not.toEqual(orphans);
    // A database that does not answer delays the stop, but does not prevent it.
    for (const pid of databases()) process.kill(pid, "SIGSTOP");
    next.signal("SIGTERM");
    expect(await next.exited).toBe(0);
    await waitUntil("the end of the database", () => databases().length === 0);
  });

  it("stops with one line that names an invalid setting", async () => {
    const bad = start({ STOA_PORT: "http" });
    expect(await bad.exited).toBe(1);
    expect(bad.output).toBe('STOA_PORT must be an integer from 0 to 65535, not "http".\n');
  });

  // The fault comes from an event and belongs to no request, like a bug in a library.
  const faultOf = (fault: string) => `--import=data:text/javascript,process.on('SIGUSR2',()=>{${fault}})`;

  it("ends after an exception with one line that says why, though a client keeps its connection open", async () => {
    const started = start({ NODE_OPTIONS: faultOf("throw%20new%20Error('boom')"), STOA_DRAIN_SECONDS: "3600" });
    const url = new URL(await started.url());
    const socket = connect(Number(url.port), url.hostname);
    socket.on("error", () => {}).write("POST /api/v1/posts HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
    await once(socket, "connect");
    started.signal("SIGUSR2");
    expect(await started.exited).toBe(1);
    socket.destroy();
    const lines = started.output.split("\n").filter((line) => line.includes("boom"));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 60, msg: "The process ends: uncaughtException: boom", err: { stack: expect.any(String) } },
    ]);
    expect(processesWith(dataDir)).toEqual([]);
  });

  it("ends after a rejection without an error, and says why even without a log", async () => {
    const started = start({ NODE_OPTIONS: faultOf("Promise.reject(undefined)"), STOA_LOG_LEVEL: "silent" });
    await started.url();
    started.signal("SIGUSR2");
    expect(await started.exited).toBe(1);
    const lines = started.output.split("\n").filter((line) => line.includes("undefined"));
    expect(lines).toEqual([expect.stringMatching(/^The process ends: unhandledRejection: .*undefined/)]);
    expect(processesWith(dataDir)).toEqual([]);
  });

  it("leaves nothing running when its start is interrupted", async () => {
    const interrupted = start();
    await untilSays(interrupted, "starting");
    interrupted.signal("SIGTERM");
    await interrupted.exited;
    expect(processesWith(dataDir)).toEqual([]);
  });
});
