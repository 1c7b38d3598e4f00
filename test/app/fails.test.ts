// How a service ends that fails, and what it says.
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { createDatabaseWithSchema } from "../support/database.ts";
import { urlOf } from "../support/process.ts";
import { DataFolder, processesWith } from "./data-folder.ts";
import { startToStop } from "./stopping.ts";

// The fault comes from an event and belongs to no request, like a bug in a library.
const faultOf = (fault: string) => `--import=data:text/javascript,process.on('SIGUSR2',()=>{${fault}})`;

// They start at the same time.
const folder = new DataFolder();
const noisy = folder.start({ NODE_OPTIONS: faultOf("throw%20new%20Error('boom')"), STOA_DRAIN_SECONDS: "3600" });
const silent = startToStop({
  STOA_DATABASE_URL: urlOf((await createDatabaseWithSchema()).config),
  NODE_OPTIONS: faultOf("Promise.reject(undefined)"),
  STOA_LOG_LEVEL: "silent",
});

it("a service ends after an exception with one line that says why, though a client keeps its connection open", async () => {
  const url = new URL(await noisy.url());
  const socket = connect(Number(url.port), url.hostname);
  socket.on("error", () => {}).write("POST /api/v1/posts HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
  await once(socket, "connect");
  noisy.signal("SIGUSR2");
  expect(await noisy.exited).toBe(1);
  socket.destroy();
  const lines = noisy.output.split("\n").filter((line) => line.includes("boom"));
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

it("a service ends after a rejection without an error, and says why even without a log", async () => {
  await silent.url();
  silent.signal("SIGUSR2");
  expect(await silent.exited).toBe(1);
  const lines = silent.output.split("\n").filter((line) => line.includes("undefined"));
  expect(lines).toEqual([expect.stringMatching(/^The process ends: unhandledRejection: .*undefined/)]);
});
