import { setTimeout as sleep } from "node:timers/promises";
import type { Prober } from "./prober.ts";
import type { NodeNumber, Servers } from "./servers.ts";

/** How long the cluster runs undisturbed between two faults, in milliseconds. */
const restMs = 5_000;
/** The longest wait for the next good write, in milliseconds. */
const maxWaitMs = 90_000;
const frozenMs = 30_000;
const cutOffMs = 15_000;

/** How long writes were away after a fault, in milliseconds: until the next good write of the fastest and slowest replica. */
export interface FaultTimes {
  fault: string;
  fastestMs: number;
  slowestMs: number;
}

interface Fault {
  name: string;
  make(): Promise<unknown> | undefined;
  /** How long the fault lasts, in milliseconds. */
  ms: number;
  end(): Promise<unknown>;
}

/** Makes one fault after another, and measures how soon each replica writes again. */
export async function disturb(
  servers: Servers,
  probers: readonly Prober[],
  log: (line: string) => void,
): Promise<FaultTimes[]> {
  const times: FaultTimes[] = [];
  for (const fault of faultsOf(servers)) {
    await sleep(restMs);
    log(fault.name);
    for (const prober of probers) prober.mark();
    const begun = Date.now();
    await fault.make();
    const waits = await Promise.all(probers.map(waitOf));
    const found = { fault: fault.name, fastestMs: Math.min(...waits), slowestMs: Math.max(...waits) };
    log(`${fault.name}: writing again after ${found.fastestMs} to ${found.slowestMs} ms`);
    times.push(found);
    await sleep(Math.max(begun + fault.ms - Date.now(), 0));
    await fault.end();
  }
  await sleep(restMs);
  return times;
}

/** The first node is the one that all replicas prefer, if they share a writer. */
function faultsOf(servers: Servers): Fault[] {
  const { partition, heal, switchTo } = servers;
  const faults: Fault[] = [
    { name: "kill -9 of the preferred server", make: () => servers.kill(1), ms: 10_000, end: () => servers.rejoin(1) },
    { name: "kill -9 of another server", make: () => servers.kill(2), ms: 5_000, end: () => servers.rejoin(2) },
    {
      name: "the preferred server is frozen (SIGSTOP) for 30 s",
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
      make: () => partition(1),
      ms: cutOffMs,
      async end() {
        await heal(1);
        await servers.rejoin(1);
      },
    });
  }
  if (switchTo !== undefined) {
    const to = (n: NodeNumber): Fault => ({
      name: `planned switchover to server ${n}`,
      make: () => switchTo(n),
      ms: 5_000,
      end: async () => {},
    });
    faults.push(to(3), to(1));
  }
  return faults;
}

async function waitOf(prober: Prober): Promise<number> {
  const end = Date.now() + maxWaitMs;
  while (prober.wellAfterMs === undefined) {
    if (Date.now() > end) {
      prober.faults.push(`${prober.name}: no good write for ${maxWaitMs} ms`);
      return Number.POSITIVE_INFINITY;
    }
    await sleep(10);
  }
  return prober.wellAfterMs;
}
