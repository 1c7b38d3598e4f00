import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { defaultStreamLimits } from "../../src/rate-limits/stream-limits.ts";
import { SharedLimits } from "../../src/workers/shared-limits.ts";
import { Supervisor, type SupervisorLog } from "../../src/workers/supervisor.ts";
import type { WorkerProcess } from "../../src/workers/worker-process.ts";
import { afterFile } from "../support/after-file.ts";
import { waitUntil } from "../support/wait.ts";

const link = fileURLToPath(new URL("../../src/workers/supervisor-link.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "stoa-test-supervisor-"));
afterFile(() => rmSync(folder, { recursive: true, force: true }));
const program = join(folder, "worker.ts");
writeFileSync(
  program,
  `import { SupervisorLink } from ${JSON.stringify(link)};
   const link = new SupervisorLink(() => process.exit());
   link.ready({ take: () => {}, closeIdle: () => false, warn: () => {}, metrics: async () => [] });
   void link.stopped.then(() => process.exit());`,
);

type Worker = WorkerProcess<object, never[]>;
const stops: (() => unknown)[] = [];
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(async () => {
  vi.useRealTimers();
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** Starts a supervisor of one worker. `setEntry` changes the program of the workers that it starts later. */
function start(entry: string) {
  const ready: Worker[] = [];
  const errors: Record<string, unknown>[] = [];
  const log: SupervisorLog = { info() {}, error: (fields) => void errors.push({ ...fields }) };
  const limits = new SharedLimits({
    folder,
    writer: 0,
    policies: undefined,
    streams: defaultStreamLimits,
    now: () => 0,
    onFailure(error) {
      throw error;
    },
  });
  stops.push(() => limits.close());
  const program = { entry };
  const supervisor = new Supervisor<object, never[]>({
    get entry() {
      return program.entry;
    },
    count: 1,
    folder,
    limits,
    log,
    settingsOf: () => ({}),
    warnings: () => [],
    onReady: (worker) => void ready.push(worker),
    onLeaving() {},
    onEnded() {},
    onTaken() {},
    onClosed() {},
    onNoneIdle() {},
    readMetrics: async () => "",
  });
  stops.push(() => supervisor.stop());
  const setEntry = (path: string) => {
    program.entry = path;
  };
  return { supervisor, ready, errors, setEntry };
}

/** Lets the supervisor look at its workers. */
const look = () => void vi.advanceTimersByTime(500);

// A path that no system takes: starting the process fails at once, as it does without memory.
const refused = "no\0path";

it("ends a worker that hangs, and starts another in its place", async () => {
  const { supervisor, ready, errors } = start(program);
  await supervisor.started;
  const [worker] = ready as [Worker];
  for (let each = 0; each < 25; each++) {
    look();
    // It answers this after the ping.
    await worker.values();
  }
  expect(errors).toEqual([]);
  process.kill(worker.pid as number, "SIGSTOP");
  for (let each = 0; each < 21; each++) look();
  await worker.ended;
  await waitUntil("another worker", () => ready.length === 2);
  expect(errors).toMatchObject([{ worker: 1 }, { worker: 1, signal: "SIGKILL" }]);
});

it("goes on when the system refuses to start a process again, and tries later", async () => {
  const { supervisor, ready, errors, setEntry } = start(program);
  await supervisor.started;
  setEntry(refused);
  ready[0]?.kill();
  await waitUntil("the failure", () => errors.length === 2);
  expect(errors[1]).toMatchObject({ worker: 1, code: null, failure: expect.stringContaining("null bytes") });
  setEntry(program);
  await waitUntil("another worker", () => ready.length === 2);
});

it("says why the first worker cannot be started", async () => {
  await expect(start(refused).supervisor.started).rejects.toThrow(/^Worker 1 could not start: .*null bytes/);
});
