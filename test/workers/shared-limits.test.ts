import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { LocalLimit } from "../../src/rate-limits/local-limit.ts";
import { createPolicies } from "../../src/rate-limits/policy.ts";
import { defaultQuotas } from "../../src/rate-limits/quota.ts";
import { LocalStreamSlots } from "../../src/rate-limits/stream-slots.ts";
import { type LimitState, SharedLimits } from "../../src/workers/shared-limits.ts";

const policies = createPolicies({
  ...defaultQuotas,
  calls: { calls: 40, windowSeconds: 60 },
  reads: { calls: 25, windowSeconds: 10 },
});
const streams = { total: 12, perConnection: 100, perAddress: 4, perAgent: 3, maxMs: 1_000 };

let now = 1_700_000_000_000;
const folders: string[] = [];
const open: SharedLimits[] = [];
const failures: unknown[] = [];
let writer = 0;

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "stoa-test-limits-"));
  folders.push(folder);
  return folder;
}

/** Makes what one process has. Segments are short, so that a test crosses many. */
function joinAs(folder: string, state?: LimitState): SharedLimits {
  writer += 1;
  const onFailure = (error: unknown) => void failures.push(error);
  const limits = new SharedLimits({ folder, writer, policies, streams, now: () => now, state, onFailure }, 16);
  open.push(limits);
  return limits;
}

afterEach(() => {
  for (const each of open.splice(0)) each.close();
  for (const each of folders.splice(0)) rmSync(each, { recursive: true, force: true });
  expect(failures.splice(0)).toEqual([]);
});

/** Returns numbers from 0 to 1, the same ones in each run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("limits that several processes share", () => {
  it("are decided in memory once they are closed, and no file is written that has the same number meanwhile", () => {
    const folder = createFolder();
    const limits = joinAs(folder);
    const calls = limits.limitOf<number>(policies.calls);
    const { remaining } = calls.spend(7);
    limits.streams.take(7, undefined);
    limits.close();
    const path = join(folder, "another-file");
    const files = [openSync(path, "a+"), openSync(path, "a+"), openSync(path, "a+")];
    try {
      expect(calls.spend(7).remaining).toBe(remaining - 1);
      expect(calls.check(7).remaining).toBe(remaining - 1);
      limits.streams.release(7, undefined);
      limits.forget(3);
      limits.close();
      expect(readFileSync(path, "utf8")).toBe("");
    } finally {
      for (const file of files) closeSync(file);
    }
  });

  it("decide every call as one process would, whichever process it reaches and whenever that has joined", () => {
    const random = createRandom(17);
    const pick = <Value>(values: readonly Value[]) => values[Math.floor(random() * values.length)] as Value;
    const folder = createFolder();
    const processes = [joinAs(folder), joinAs(folder)];
    const one = {
      reads: new LocalLimit<string>(policies.reads, () => now),
      calls: new LocalLimit<number>(policies.calls, () => now),
    };
    let refused = 0;
    for (let step = 0; step < 3_000; step++) {
      // Another process joins from time to time, with the state of one that runs.
      if (step % 1_000 === 500) processes.push(joinAs(folder, pick(processes).state()));
      now += pick([0, 0, 1, 7, 150]);
      const process = pick(processes);
      const reserve = pick([0, 0, 0, 3]);
      const address = pick(["192.0.2.1", "192.0.2.2", "2001:db8:ffff:ffff::/64"]);
      const agent = pick([7, 8]);
      // A look relies on what was read in the last millisecond, so this one comes after a call of the same process.
      const pairs =
        random() < 0.5
          ? [
              [process.limitOf<string>(policies.reads).spend(address, reserve), one.reads.spend(address, reserve)],
              [process.limitOf<string>(policies.reads).check(address), one.reads.check(address)],
            ]
          : [
              [process.limitOf<number>(policies.calls).spend(agent, reserve), one.calls.spend(agent, reserve)],
              [process.limitOf<number>(policies.calls).check(agent), one.calls.check(agent)],
            ];
      for (const [shared, alone] of pairs) expect(shared, `step ${step}`).toEqual(alone);
      if (pairs[0]?.[0]?.allowed === false) refused += 1;
    }
    expect(refused).toBeGreaterThan(300);
    expect(processes).toHaveLength(5);
    expect(Math.min(...processes.map(({ segment }) => segment))).toBeGreaterThan(100);
  });

  it("count streams as one process would, and forget those of a process that has ended", () => {
    const random = createRandom(4);
    const folder = createFolder();
    const processes = [joinAs(folder), joinAs(folder), joinAs(folder)];
    const writers = [writer - 2, writer - 1, writer];
    const one = new LocalStreamSlots(streams);
    type Held = { holder: [number | undefined, string | undefined]; process: number };
    let held: Held[] = [];
    const outcomes = new Set<string | undefined>();
    const holders: Held["holder"][] = [
      [1, undefined],
      [2, undefined],
      [undefined, "192.0.2.1"],
      [undefined, "192.0.2.2"],
      [undefined, undefined],
    ];
    for (let step = 0; step < 1_000; step++) {
      const process = Math.floor(random() * 3);
      if (held.length > 0 && random() < 0.4) {
        const [{ holder, process: holding }] = held.splice(Math.floor(random() * held.length), 1) as [Held];
        processes[holding]?.streams.release(...holder);
        one.release(...holder);
      } else {
        const holder = holders[Math.floor(random() * holders.length)] as Held["holder"];
        const full = processes[process]?.streams.take(...holder);
        expect(full, `step ${step}`).toBe(one.take(...holder));
        outcomes.add(full);
        if (full === undefined) held.push({ holder, process });
      }
      if (step % 100 !== 99) continue;
      processes[0]?.forget(writers[1] as number);
      for (const { holder } of held.filter((each) => each.process === 1)) one.release(...holder);
      held = held.filter((each) => each.process !== 1);
    }
    expect([...outcomes].sort()).toEqual(["perAddress", "perAgent", "total", undefined]);
  });

  it("allow exactly the quota while threads spend it at the same time", async () => {
    const folder = createFolder();
    // The clock stands still, so nothing is restored.
    const program = `
      import { parentPort, workerData } from "node:worker_threads";
      const { SharedLimits } = await import(workerData.module);
      const { folder, writer, policies, streams, now } = workerData;
      const onFailure = (error) => { throw error; };
      const limits = new SharedLimits({ folder, writer, policies, streams, now: () => now, onFailure }, 64);
      const calls = limits.limitOf(policies.calls);
      const left = [];
      for (let i = 0; i < 80; i++) for (let key = 0; key < 20; key++) {
        const { allowed, remaining } = calls.spend(key);
        if (allowed) left.push(key + ":" + remaining);
      }
      parentPort.postMessage(left);`;
    const module = new URL("../../src/workers/shared-limits.ts", import.meta.url).href;
    const plain = JSON.parse(JSON.stringify(policies));
    const spent = await Promise.all(
      [1, 2, 3].map((writer) => {
        const workerData = { module, folder, writer, policies: plain, streams, now };
        const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), { workerData });
        return new Promise<string[]>((resolve, reject) => thread.once("message", resolve).once("error", reject));
      }),
    );
    // Each call that was left has been given away once, to one of the threads.
    const { burst } = policies.calls;
    const all = Array.from({ length: 20 * burst }, (_, index) => `${index % 20}:${Math.floor(index / 20)}`);
    expect(spent.flat().sort()).toEqual(all.sort());
  });

  it("still limit this process when the file cannot be written", () => {
    const folder = createFolder();
    const limits = joinAs(folder);
    rmSync(folder, { recursive: true });
    const reads = limits.limitOf<string>(policies.reads);
    const allowed = Array.from({ length: 60 }, () => reads.spend("192.0.2.1").allowed);
    expect(allowed.filter(Boolean)).toHaveLength(policies.reads.burst);
    expect(failures.splice(0).length).toBeGreaterThan(0);
  });

  it("are on disk only as a file that others cannot read", () => {
    const folder = createFolder();
    joinAs(folder).limitOf<string>(policies.reads).spend("192.0.2.1");
    expect(readdirSync(folder)).toEqual(["journal-0"]);
  });
});
