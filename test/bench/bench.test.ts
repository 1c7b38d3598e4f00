// What `npm run bench` compares is comparable. Otherwise its shares mean nothing, and nobody notices until the next run.
import { expect, it, onTestFinished } from "vitest";
import { openBoard } from "../../bench/board.ts";
import { createCases } from "../../bench/cases.ts";
import { startBaseline, startService } from "../../bench/environment.ts";
import { checkFairness } from "../../bench/fairness.ts";
import { watch } from "../../bench/memory.ts";
import { readOptions } from "../../bench/options.ts";
import { startPrivateServer } from "../../src/private-database/server/private-server.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

it("the hand-written routes give the replies of the service, by the same statements", async () => {
  const dataDir = scratchFolder();
  // A server of its own, because the statements of all its clients are logged meanwhile.
  const server = await startPrivateServer({ dataDir, log() {}, signal: new AbortController().signal });
  const socket = encodeURIComponent(server.socketPath);
  const url = `mysql://${server.user}@localhost/stoa_bench?socket=${socket}`;
  const options = readOptions(["--quick"], { STOA_BENCH_DATABASE_URL: url });
  const population = { ...options.population, posts: 1_000, discussed: 50 };
  const cleanUp = new AsyncDisposableStack();
  onTestFinished(() => cleanUp.disposeAsync());
  cleanUp.defer(() => server.stop());
  const { signal } = new AbortController();
  const run = { started: Date.now(), options: { ...options, population }, log() {}, signal, cleanUp };
  const { address, admin } = await openBoard(run);
  const sides = {
    baseline: await watch(startBaseline(address, signal), cleanUp),
    service: await watch(startService(address, run.options, signal), cleanUp),
  };
  expect(await checkFairness(createCases(population), sides, admin)).toEqual([]);
});
