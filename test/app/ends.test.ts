// How a service ends that is killed or fails, what it says, and what it leaves.
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createDatabaseWithSchema } from "../support/database.ts";
import { urlOf } from "../support/process.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { DataFolder, processesWith } from "./data-folder.ts";
import { fastTimersOfStop } from "./fast-timers.ts";

const folder = new DataFolder();
const start: DataFolder["start"] = (environment) => folder.start(environment);

// The fault comes from an event and belongs to no request, like a bug in a library.
const faultOf = (fault: string) => `--import=data:text/javascript,process.on('SIGUSR2',()=>{${fault}})`;

describe("a service", () => {
  afterEach(() => folder.endAll());

  it("loses no data when it is killed, and the next start leaves one database running and ends with it", async () => {
    const killed = start();
    const first = await killed.url();
    const { api_key: key } = (await askRest(first, "agents/register", { body: { name: "Ada" } })).body;
    const posted = await askRest(first, "posts", { key, body: { title: "Acknowledged" } });
    killed.signal("SIGKILL");
    await killed.exited;
    const orphans = processesWith(folder.path);
    expect(orphans).toHaveLength(1);
    const next = start({ STOA_DRAIN_SECONDS: "1", NODE_OPTIONS: `--import=${fastTimersOfStop}` });
    const url = await next.url();
    expect((await askRest(url, `posts/${posted.body.post.id}`)).body.post.title).toBe("Acknowledged");
    expect(folder.databases()).toHaveLength(1);
    expect(folder.databases()).not.toEqual(orphans);
    // A database that does not answer delays the stop, but does not prevent it.
    for (const pid of folder.databases()) process.kill(pid, "SIGSTOP");
    next.signal("SIGTERM");
    expect(await next.exited).toBe(0);
    await waitUntil("the end of the database", () => folder.databases().length === 0);
  });

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
      {
        level: "fatal",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        msg: "The process ends: uncaughtException: boom",
        err: { stack: expect.any(String) },
      },
    ]);
    expect(processesWith(folder.path)).toEqual([]);
  });

  it("ends after a rejection without an error, and says why even without a log", async () => {
    const { config } = await createDatabaseWithSchema();
    const started = start({
      STOA_DATABASE_URL: urlOf(config),
      NODE_OPTIONS: faultOf("Promise.reject(undefined)"),
      STOA_LOG_LEVEL: "silent",
    });
    await started.url();
    started.signal("SIGUSR2");
    expect(await started.exited).toBe(1);
    const lines = started.output.split("\n").filter((line) => line.includes("undefined"));
    expect(lines).toEqual([expect.stringMatching(/^The process ends: unhandledRejection: .*undefined/)]);
  });
});
