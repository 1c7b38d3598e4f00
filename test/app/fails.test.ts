// How a service ends that fails, and what it says.
import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createTestDatabase } from "../support/database.ts";
import { urlOf } from "../support/process.ts";
import { DataFolder, processesWith } from "./data-folder.ts";

const folder = new DataFolder();
const start: DataFolder["start"] = (environment) => folder.start(environment);

describe("a service", () => {
  afterEach(() => folder.endAll());

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
    const { config } = await createTestDatabase();
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
