// What `npm run bench` compares is comparable. Otherwise its shares mean nothing, and nobody notices until the next run.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openBoard } from "../../bench/board.ts";
import { createCases } from "../../bench/cases.ts";
import { startBaseline, startService } from "../../bench/environment.ts";
import { checkFairness } from "../../bench/fairness.ts";
import { watch } from "../../bench/memory.ts";
import { readOptions } from "../../bench/options.ts";
import { benchRpc } from "../../bench/rpc.ts";
import type { Run } from "../../bench/run.ts";
import { startPrivateServer } from "../../src/private-database/server/private-server.ts";

function start(settings: Record<string, string> = {}): Run {
  const cleanUp = new AsyncDisposableStack();
  onTestFinished(() => cleanUp.disposeAsync());
  const options = { ...readOptions(["--quick", "--rounds", "1", "--seconds", "0.2"], settings), warmUpSeconds: 0.001 };
  return { started: Date.now(), options, log() {}, signal: new AbortController().signal, cleanUp };
}

it("the hand-written routes give the replies of the service, by the same statements", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "stoa-bench-test-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  // A server of its own, because the statements of all its clients are logged meanwhile.
  const server = await startPrivateServer({ dataDir, log() {}, signal: new AbortController().signal });
  const socket = encodeURIComponent(server.socketPath);
  const run = start({ STOA_BENCH_DATABASE_URL: `mysql://${server.user}@localhost/stoa_bench?socket=${socket}` });
  run.cleanUp.defer(() => server.stop());
  const population = { ...run.options.population, posts: 2_000, discussed: 100 };
  const small = { ...run, options: { ...run.options, population } };
  const { address, admin } = await openBoard(small);
  const sides = {
    baseline: await watch(startBaseline(address, run.signal), run.cleanUp),
    service: await watch(startService(address, small.options, run.signal), run.cleanUp),
  };
  expect(await checkFairness(createCases(population), sides, admin)).toEqual([]);
});

it("both sides of the comparison without a database answer", async () => {
  const { report } = await benchRpc(start());
  expect(report.measurements.map(({ protocol, perSecond }) => [protocol, perSecond > 0])).toEqual([
    ["grpc-js", true],
    ["service", true],
  ]);
});
