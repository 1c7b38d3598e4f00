// The service with two workers, as a process.
import { Agent, get } from "node:http";
import { expect, it } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { createTestDatabase } from "../support/database.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import { waitUntil } from "../support/wait.ts";

it("both workers serve, a limit counts on both, and a stop ends them", async () => {
  const { config } = await createTestDatabase();
  const service = new ServiceProcess({
    STOA_DATABASE_URL: urlOf(config),
    STOA_WORKERS: "2",
    STOA_METRICS_PORT: "none",
    STOA_LIMIT_READS: "20/1d",
  });
  afterFile(() => service.end("SIGKILL"));
  const url = await service.url();
  const ask = () =>
    new Promise<number>((resolve, reject) => {
      get(`${url}/api/v1/posts`, { agent: new Agent() }, (response) => {
        response.resume().once("end", () => resolve(response.statusCode ?? 0));
      }).once("error", reject);
    });
  const statuses = await Promise.all(Array.from({ length: 30 }, ask));
  expect(statuses.filter((status) => status === 200)).toHaveLength(20);
  expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  const lines = () => service.output.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
  const workers = () => new Set(lines().flatMap(({ msg, worker }) => (msg === "request" ? [worker] : [])));
  await waitUntil("lines of both workers", () => workers().size === 2);
  service.signal("SIGTERM");
  expect(await service.exited).toBe(0);
});
