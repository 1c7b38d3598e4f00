// A service that runs out of open files, as it does where the limit is lower than its settings need.
import { Agent, get } from "node:http";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { warnOfFileLimit } from "../../src/process/file-limit.ts";
import { afterFile } from "../support/after-file.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import { waitUntil } from "../support/wait.ts";

/** More than the service needs for itself. */
const MAX_FILES = 100;

it("closes new connections while no file is left, serves the others, and recovers", async () => {
  const { config } = await createDatabaseWithSchema();
  const settings = { STOA_DATABASE_CONNECTIONS: "4" };
  const service = new ServiceProcess({ STOA_DATABASE_URL: urlOf(config), ...settings }, { maxFiles: MAX_FILES });
  afterFile(() => service.end("SIGINT"));
  const url = await service.url();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  afterFile(() => agent.destroy());
  /** The status of a request on a connection that stays open. */
  const ask = (path: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(url + path, { agent }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      }).on("error", reject);
    });
  expect(await ask("/api/v1/posts")).toBe(200);

  let closed = 0;
  const sockets = Array.from({ length: 2 * MAX_FILES }, () =>
    connect(Number(new URL(url).port), "127.0.0.1")
      .on("error", () => {})
      .on("close", () => {
        closed += 1;
      })
      .resume(),
  );
  await waitUntil("new connections to be closed", () => closed >= MAX_FILES);
  expect(await ask("/healthz")).toBe(200);
  expect(await ask("/api/v1/posts")).toBe(200);
  expect(service.output).toContain(`the process may open ${MAX_FILES} files`);

  for (const socket of sockets) socket.destroy();
  await waitUntil("a new connection to be served", async () => {
    const response = await fetch(`${url}/healthz`, { headers: { connection: "close" } }).catch(() => undefined);
    return response?.status === 200;
  });
});

it("says nothing where the limit is enough, or unknown", () => {
  const counts = { connections: 8192, databaseConnections: 32 };
  expect(warnOfFileLimit(8287, counts)).toContain("may open 8287 files, and its settings need 8288");
  expect([8288, undefined].map((limit) => warnOfFileLimit(limit, counts))).toEqual([undefined, undefined]);
});
