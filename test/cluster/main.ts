// npm run test:cluster: three replicas on a cluster of three database servers, which are killed, frozen and cut off under load.
// At the end everything that was acknowledged must be on every server exactly once.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hammer, verdictOf } from "../hammer/hammer.ts";
import { waitUntil } from "../support/wait.ts";
import { BareWriter } from "./bare-writer.ts";
import { allCases, type Case } from "./cases.ts";
import { disturb, type FaultTimes } from "./chaos.ts";
import { type Clustered, withCluster } from "./clustered.ts";
import { conflict } from "./conflicts.ts";
import { measureMigration } from "./migration.ts";
import { Prober } from "./prober.ts";
import { measureReads, type Percentiles } from "./reads.ts";
import { joinMs, nodes } from "./servers.ts";

const help = `npm run test:cluster -- [options]

  --case NAME     galera-one-writer, galera-three-writers, group or group-three-primaries; by default all that this machine
                  can run
  --agents N      how many agents act at a time (default 30)
  --scripts DIR   the folder of Galera's scripts, such as wsrep_sst_mariabackup (default /usr/bin)
  --port N        the first of forty free ports (default 23500), below those that the system gives to outgoing connections
  --mysqld PATH   MySQL's server, for group (default /usr/sbin/mysqld)
  --root FOLDER   the root folder that mysqld runs in, by chroot
  --triggers off  without the triggers of the ledger
  --minutes N     makes the faults of each case again and again for N minutes; by default each fault once
  --faults TEXT   makes only faults whose names have this text, such as switchover
  --seed N        repeats the choices of the agents
  --keep          keeps the data and the logs of the servers
  --reads         makes no faults, but measures what it costs that reads wait for the other servers
  --conflicts N   makes no faults, but for N seconds transactions that conflict, on connections that are always new
  --migration X   makes no faults, but runs the migration X on 300,000 comments while the version before it serves

It needs root, HAProxy, about 2 GiB of memory, and five minutes a case without --minutes. Galera needs Debian's mariadb-server-core,
mariadb-backup, galera-4 and socat; Group Replication needs MySQL 8.4 or 9 with its plugin group_replication, and the
right to make network namespaces: without it, no member is cut off from the others.
`;

const { values } = parseArgs({
  options: {
    case: { type: "string" },
    agents: { type: "string", default: "30" },
    scripts: { type: "string", default: "/usr/bin" },
    port: { type: "string", default: "23500" },
    mysqld: { type: "string", default: "/usr/sbin/mysqld" },
    root: { type: "string" },
    triggers: { type: "string", default: "on" },
    minutes: { type: "string", default: "0" },
    faults: { type: "string" },
    seed: { type: "string", default: String(Date.now() % 2 ** 32) },
    keep: { type: "boolean", default: false },
    reads: { type: "boolean", default: false },
    conflicts: { type: "string" },
    migration: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const started = Date.now();
const say = (line: string) => process.stdout.write(`${line}\n`);
const log = (line: string) => say(`${((Date.now() - started) / 1000).toFixed(0)} s: ${line}`);

const inSeconds = (ms: number) => (ms / 1000).toFixed(1);

/** Makes the faults. @returns what went wrong */
async function runFaults(name: string, { servers, databases, urlOf }: Clustered): Promise<string[]> {
  const [db, ...alsoIn] = databases;
  let times: FaultTimes[] = [];
  const faults = await hammer({
    db,
    alsoIn,
    replicas: [0, 1, 2].map((replica) => ({
      STOA_DATABASE_URL: urlOf(replica),
      STOA_LEDGER_TRIGGERS: values.triggers,
    })),
    agents: Number(values.agents),
    sealers: 2,
    mayBeAway: true,
    chaos: async ({ urls, restart }) => {
      const probers = [0, 1, 2].map((replica) => new Prober(`p${replica}`, () => urls()[replica] as string));
      const bare = new BareWriter(servers);
      let isOver = false;
      const probing = [...probers, bare].map((each) => each.run(() => isOver));
      try {
        times = await disturb(
          { servers, probers, bare, restart, log },
          { minMs: Number(values.minutes) * 60_000, only: values.faults },
        );
      } finally {
        isOver = true;
        await Promise.all(probing);
      }
      for (const n of nodes) await waitUntil(`server ${n}`, () => servers.isMember(n), joinMs);
      return probers;
    },
    seed: Number(values.seed),
    log,
  });
  say(`\n| ${name} | times | no writes for | the driver alone |\n|---|---|---|---|`);
  for (const { fault, rounds, fastestMs, slowestMs, bareMs } of times) {
    const pauses = new Set([fastestMs, slowestMs].map(inSeconds));
    say(`| ${fault} | ${rounds} | ${[...pauses].join(" to ")} s | ${inSeconds(bareMs)} s |`);
  }
  return faults;
}

async function runReads(name: string, cluster: Clustered): Promise<string[]> {
  const cell = ({ median, p95 }: Percentiles) => `${median.toFixed(2)} (${p95.toFixed(2)})`;
  say(`\n| ${name}: median (95 %) in ms | without waiting | waiting |\n|---|---|---|`);
  for (const { what, off, on } of await measureReads(cluster)) say(`| ${what} | ${cell(off)} | ${cell(on)} |`);
  return [];
}

async function runConflicts(name: string, cluster: Clustered, seconds: number): Promise<string[]> {
  const { acknowledged, faults } = await conflict(cluster, seconds);
  log(`${name}: ${acknowledged} transactions were acknowledged`);
  return faults;
}

async function runMigration(name: string, cluster: Clustered, migration: string): Promise<string[]> {
  const { times, faults } = await measureMigration(cluster, { migration, log });
  const pauses = `no good write for ${inSeconds(times.writesMs)} s, no good read for ${inSeconds(times.readsMs)} s`;
  log(`${name}: two replicas started in ${inSeconds(times.startMs)} s; the one before had ${pauses}`);
  log(`${name}: ${JSON.stringify({ writes: times.writes, reads: times.reads })}`);
  return faults;
}

async function runCase(each: Case): Promise<string[]> {
  const { name } = each;
  const folder = mkdtempSync(join(tmpdir(), "stoa-cluster-"));
  // A server with a root of its own has the same path in there.
  const folders = [folder, join(values.root ?? "/", folder)];
  log(`${name}: starting the servers in ${folders.at(-1)}`);
  try {
    return await withCluster(each, folder, (cluster) => {
      if (values.conflicts !== undefined) return runConflicts(name, cluster, Number(values.conflicts));
      if (values.reads) return runReads(name, cluster);
      if (values.migration !== undefined) return runMigration(name, cluster, values.migration);
      return runFaults(name, cluster);
    });
  } finally {
    if (!values.keep) for (const each of folders) rmSync(each, { recursive: true, force: true });
  }
}

if (values.help) {
  process.stdout.write(help);
} else {
  const program = { mysqld: values.mysqld, root: values.root };
  const cases = allCases({ scripts: values.scripts, port: Number(values.port), program, log });
  const chosen = cases.filter(({ name }) => values.case === undefined || values.case === name);
  if (chosen.length === 0) throw new Error(`there is no case ${values.case}`);
  for (const each of chosen) {
    if (each.needs !== undefined) {
      log(`${each.name} cannot run; it needs ${each.needs}`);
      if (values.case !== undefined) process.exitCode = 1;
      continue;
    }
    const faults = await runCase(each);
    log(`${each.name}: ${verdictOf(faults)}`);
    if (faults.length > 0) process.exitCode = 1;
  }
}
