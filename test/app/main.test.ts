import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { ServiceProcess } from "../support/process.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

/** Returns the processor time that a process has used, in milliseconds; see proc(5). */
function processorMs(pid: number): number {
  const [, fields = ""] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
  const [user, system] = fields.split(" ").slice(11, 13).map(Number) as [number, number];
  return (user + system) * 10;
}

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

describe("the service as a process", () => {
  let dataDir: string;
  const processes: ServiceProcess[] = [];
  let key: string;
  const start = (environment?: Record<string, string>) => {
    const started = new ServiceProcess({ STOA_DATA_DIR: dataDir, ...environment });
    processes.push(started);
    return started;
  };

  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), "stoa-main-"));
  });
  afterEach(async () => {
    for (const each of processes.splice(0)) await each.end("SIGINT");
  });
  afterAll(() => rmSync(dataDir, { recursive: true }));

  it("starts on an empty folder, serves, and stops on Ctrl-C together with its database", async () => {
    const first = start();
    const url = await first.url();
    const registered = await askRest(url, "agents/register", { body: { name: "Ada" } });
    key = registered.body.api_key;
    expect((await askRest(url, "posts", { key, body: { title: "Kept" } })).status).toBe(201);
    expect(processesWith(dataDir).length).toBeGreaterThan(0);
    first.signal("SIGINT");
    expect(await first.exited).toBe(0);
    expect(processesWith(dataDir)).toEqual([]);
    expect(first.output).not.toContain(key);
  });

  it("starts again with all its data and less than three seconds of processor time", async () => {
    const again = start({ NODE_OPTIONS: `--import=${tellModules}` });
    const url = await again.url();
    // Processor time is measured because elapsed time depends on the other processes of a busy machine.
    const databases = processesWith(join(dataDir, "mysql"));
    expect(databases).toHaveLength(1);
    const work = [again.pid as number, ...databases].map(processorMs);
    expect(work.reduce((sum, each) => sum + each, 0)).toBeLessThan(3000);
    // The start creates, migrates and stops nothing.
    expect(again.output).not.toMatch(/preparing a |migrating the database|stopping the database server/);
    expect((await askRest(url, "agents/me", { key })).body.agent).toMatchObject({ name: "Ada", posts: 1 });
    again.signal("SIGINT");
    await again.exited;
    // The compiler of TypeScript, which takes memory and time, is not loaded again.
    expect(again.output).toContain("Modules: ");
    expect(again.output).not.toContain("internal/deps/amaro");
  });

  it("loses no data when it is killed, and the next start leaves only one database running", async () => {
    const killed = start();
    const posted = await askRest(await killed.url(), "posts", { key, body: { title: "Acknowledged" } });
    killed.signal("SIGKILL");
    await killed.exited;
    const orphans = processesWith(dataDir);
    expect(orphans).toHaveLength(1);
    const url = await start().url();
    expect((await askRest(url, `posts/${posted.body.post.id}`)).body.post.title).toBe("Acknowledged");
    const databases = processesWith(join(dataDir, "mysql"));
    expect(databases).toHaveLength(1);
    expect(databases).not.toEqual(orphans);
  });

  it("fails with a clear message when it is started twice on one folder", async () => {
    const first = start();
    await first.url();
    const second = start();
    expect(await second.exited).toBe(1);
    expect(second.output).toMatch(new RegExp(`in use by process ${first.pid}`));
    expect((await askRest(await first.url(), "/readyz")).status).toBe(200);
  });

  it("answers 503 while its database is down, and serves again when the database is back", async () => {
    const running = start();
    const url = await running.url();
    const [database = 0] = processesWith(join(dataDir, "mysql"));
    process.kill(database, "SIGKILL");
    // Each response in between is a success or a 503.
    const statuses = new Set<number>();
    await waitUntil("a write to the new database", async () => {
      const { status, body } = await askRest(url, "posts", { key, body: { title: "Through the storm" } });
      statuses.add(status);
      if (status === 503) expect(body).toMatchObject({ ok: false, error: "unavailable", retry_after_seconds: 1 });
      return status === 201 && !processesWith(join(dataDir, "mysql")).includes(database);
    });
    expect([...statuses].filter((status) => status !== 201 && status !== 503)).toEqual([]);
    await waitUntil("readiness", async () => (await askRest(url, "/readyz")).status === 200);
  });

  it("stops with one line that names an invalid setting", async () => {
    const bad = start({ STOA_PORT: "http" });
    expect(await bad.exited).toBe(1);
    expect(bad.output).toBe('STOA_PORT must be an integer from 0 to 65535, not "http".\n');
  });

  it("names an unknown setting in its log, without its value", async () => {
    const started = start({ STOA_PROT: "hunter2" });
    await started.url();
    expect(started.output).toContain("STOA_PROT is not a setting of Stoa and has no effect; did you mean STOA_PORT?");
    expect(started.output).not.toContain("hunter2");
  });

  it.each([
    ["an exception", "throw%20new%20Error('boom')", "uncaughtException", "boom", {}],
    ["a rejection", "Promise.reject(new%20Error('boom'))", "unhandledRejection", "boom", {}],
    ["a rejection without an error", "Promise.reject(undefined)", "unhandledRejection", "undefined", {}],
    [
      "an exception, with no log",
      "throw%20new%20Error('boom')",
      "uncaughtException",
      "boom",
      { STOA_LOG_LEVEL: "silent" },
    ],
  ])(
    "ends after %s with one line that says why, and closes its database",
    async (_, fault, origin, reason, settings) => {
      const started = start({
        // The fault comes from an event and belongs to no request, like a bug in a library.
        NODE_OPTIONS: `--import=data:text/javascript,process.on('SIGUSR2',()=>{${fault}})`,
        ...settings,
      });
      await started.url();
      const before = started.output.length;
      started.signal("SIGUSR2");
      expect(await started.exited).toBe(1);
      const lines = started.output
        .slice(before)
        .split("\n")
        .filter((line) => line.includes(reason));
      expect(lines).toHaveLength(1);
      const why = expect.stringMatching(new RegExp(`^The process ends: ${origin}: .*${reason}`));
      if ("STOA_LOG_LEVEL" in settings) expect(lines[0]).toEqual(why);
      else
        expect(JSON.parse(lines[0] as string)).toMatchObject({
          level: 60,
          msg: why,
          err: { stack: expect.any(String) },
        });
      expect(processesWith(dataDir)).toEqual([]);
    },
  );

  it("ends within a time limit although a client keeps its connection open", async () => {
    const started = start({
      NODE_OPTIONS: "--import=data:text/javascript,process.on('SIGUSR2',()=>{throw%20new%20Error('boom')})",
      STOA_DRAIN_SECONDS: "3600",
    });
    const url = new URL(await started.url());
    const socket = connect(Number(url.port), url.hostname);
    socket.on("error", () => {}).write("POST /api/v1/posts HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
    await once(socket, "connect");
    started.signal("SIGUSR2");
    expect(await started.exited).toBe(1);
    socket.destroy();
  });

  it("leaves nothing running when its start is interrupted", async () => {
    const interrupted = start();
    await waitUntil("its first line", () => interrupted.output.includes("starting"));
    interrupted.signal("SIGTERM");
    await interrupted.exited;
    expect(processesWith(dataDir)).toEqual([]);
  });
});
