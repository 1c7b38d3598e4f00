import { setTimeout as sleep } from "node:timers/promises";
import { waitUntil } from "../support/wait.ts";
import type { BareWriter } from "./bare-writer.ts";
import type { Pauses } from "./pauses.ts";
import type { Prober } from "./prober.ts";
import type { NodeNumber, Servers } from "./servers.ts";

/** How long the cluster runs undisturbed between two faults, in milliseconds. */
const restMs = 5_000;
/** The longest wait for the next good write, in milliseconds. On a busy machine replicas take long to start. */
const maxWaitMs = 240_000;
const frozenMs = 30_000;
const cutOffMs = 15_000;

/** The longest pauses between good writes that a fault has caused, in milliseconds. */
export interface FaultTimes {
  fault: string;
  /** How often it was made. */
  rounds: number;
  /** Of the replica with the shortest pause, and of the one with the longest. */
  fastestMs: number;
  slowestMs: number;
  /** Of the driver alone, on whichever server took writes. */
  bareMs: number;
}

export interface Disturbed {
  servers: Servers;
  /** One for each replica of the service. */
  probers: readonly Prober[];
  bare: BareWriter;
  /** Ends a replica of the service, and starts it again. */
  restart(replica: number, signal: "SIGKILL" | "SIGINT"): Promise<void>;
  log(line: string): void;
}

interface Fault {
  name: string;
  /** What comes before the rest. */
  prepare?: (() => Promise<unknown>) | undefined;
  make(): Promise<unknown>;
  /** How long the fault lasts, in milliseconds. */
  ms?: number;
  end?(): Promise<unknown>;
}

/**
 * Makes one fault after another, and measures how long each replica cannot write.
 * @param minMs how long it begins the list of faults again, in milliseconds; 0 means that each is made once
 * @param only a part of the names of the faults to make
 */
export async function disturb(
  disturbed: Disturbed,
  { minMs, only = "" }: { minMs: number; only?: string | undefined },
): Promise<FaultTimes[]> {
  const { log } = disturbed;
  const faults = faultsOf(disturbed).filter(({ name }) => name.includes(only));
  const times = new Map<string, FaultTimes>();
  const end = Date.now() + minMs;
  for (let round = 1; round === 1 || Date.now() < end; round++) {
    for (const fault of faults) {
      const found = await makeFault(fault, disturbed);
      const before = times.get(fault.name) ?? found;
      times.set(fault.name, {
        fault: fault.name,
        rounds: round,
        fastestMs: Math.min(before.fastestMs, found.fastestMs),
        slowestMs: Math.max(before.slowestMs, found.slowestMs),
        bareMs: Math.max(before.bareMs, found.bareMs),
      });
    }
    log(`round ${round} is over`);
  }
  await sleep(restMs);
  return [...times.values()];
}

async function makeFault(fault: Fault, { probers, bare, log }: Disturbed): Promise<FaultTimes> {
  await fault.prepare?.();
  await sleep(restMs);
  log(fault.name);
  const begun = Date.now();
  for (const { pauses } of [...probers, bare]) pauses.mark();
  await fault.make();
  const waits = await Promise.all(
    probers.map(async ({ name, pauses, faults }) => {
      const ms = await longestPause(pauses);
      if (ms === Number.POSITIVE_INFINITY) faults.push(`${name}: ${fault.name}: no good write for ${maxWaitMs} ms`);
      return ms;
    }),
  );
  const found = {
    fault: fault.name,
    rounds: 1,
    fastestMs: Math.min(...waits),
    slowestMs: Math.max(...waits),
    bareMs: await longestPause(bare.pauses),
  };
  log(`${fault.name}: no writes for ${found.fastestMs} to ${found.slowestMs} ms; the driver alone: ${found.bareMs} ms`);
  await sleep(Math.max(begun + (fault.ms ?? 0) - Date.now(), 0));
  await fault.end?.();
  return found;
}

/** The first node is the one that all replicas prefer, if they share a writer. */
function faultsOf({ servers, probers, restart }: Disturbed): Fault[] {
  const { partition, heal, switchTo } = servers;
  // After a failover, a group keeps its new primary.
  const prepare = switchTo && (() => switchTo(1));
  const faults: Fault[] = [
    {
      name: "kill -9 of the preferred server",
      prepare,
      make: () => servers.kill(1),
      ms: 10_000,
      end: () => servers.rejoin(1),
    },
    { name: "kill -9 of another server", make: () => servers.kill(2), ms: 5_000, end: () => servers.rejoin(2) },
    {
      name: "the preferred server is frozen (SIGSTOP) for 30 s",
      prepare,
      make: async () => servers.freeze(1),
      ms: frozenMs,
      async end() {
        servers.thaw(1);
        await servers.rejoin(1);
      },
    },
  ];
  if (partition !== undefined && heal !== undefined) {
    faults.push({
      name: "the preferred server is cut off from the others",
      prepare,
      make: () => partition(1),
      ms: cutOffMs,
      async end() {
        await heal(1);
        await servers.rejoin(1);
      },
    });
  }
  if (switchTo !== undefined) {
    const to = (n: NodeNumber): Fault => ({ name: `planned switchover to server ${n}`, make: () => switchTo(n) });
    faults.push(to(3), to(1));
  }
  faults.push(
    {
      name: "kill -9 of all replicas of the service",
      make: () => Promise.all(probers.map((_, replica) => restart(replica, "SIGKILL"))),
    },
    {
      name: "restart of one replica after another",
      async make() {
        for (const replica of probers.keys()) await restart(replica, "SIGINT");
      },
    },
  );
  return faults;
}

async function longestPause(pauses: Pauses): Promise<number> {
  await waitUntil("a good write", () => pauses.longestMs !== undefined, maxWaitMs).catch(() => {});
  return pauses.longestMs ?? Number.POSITIVE_INFINITY;
}
