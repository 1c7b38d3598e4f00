// npm run test:cluster: three replicas on a cluster of three database servers, which are killed, frozen and cut off under load.
// At the end everything that was acknowledged must be on every server exactly once.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createPool, type RowDataPacket } from "mysql2/promise";
import { hammer } from "../hammer/hammer.ts";
import type { TestDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait.ts";
import { BareWriter } from "./bare-writer.ts";
import { disturb, type FaultTimes } from "./chaos.ts";
import { startGalera, whatGaleraNeeds } from "./galera.ts";
import { startGroup, whatGroupNeeds } from "./group.ts";
import { Prober } from "./prober.ts";
import { joinMs, nodes, query, type Servers } from "./servers.ts";

const help = `npm run test:cluster -- [options]

  --case NAME     galera-one-writer, galera-three-writers or group; by default all that this machine can run
  --agents N      how many agents act at a time (default 30)
  --scripts DIR   the folder of Galera's scripts, such as wsrep_sst_mariabackup (default /usr/bin)
  --port N        the first of forty free ports (default 23500), below those that the system gives to outgoing connections
  --mysqld PATH   MySQL's server, for group (default /usr/sbin/mysqld)
  --root FOLDER   the root folder that mysqld runs in, by chroot
  --triggers off  without the triggers of the ledger
  --minutes N     makes the faults of each case again and again for N minutes; by default each fault once
  --faults TEXT   makes only faults whose names have this text, such as switchover
  --seed N        repeats the choices of the agents

It needs root, about 2 GiB of memory, and five minutes a case without --minutes. Galera needs Debian's mariadb-server-core,
mariadb-backup, galera-4 and socat; Group Replication needs MySQL 8.4 or 9 with its plugin group_replication.
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
    help: { type: "boolean", default: false },
  },
});

interface Case {
  name: string;
  needs: string | undefined;
  start(folder: string): Promise<Servers>;
  /** The order of the servers for a replica. */
  order(replica: number): readonly (1 | 2 | 3)[];
}

const port = Number(values.port);
const program = { mysqld: values.mysqld, root: values.root };
const cases: Case[] = [
  {
    name: "galera-one-writer",
    needs: whatGaleraNeeds(values.scripts),
    start: (folder) => startGalera(folder, port, values.scripts),
    order: () => [1, 2, 3],
  },
  {
    name: "galera-three-writers",
    needs: whatGaleraNeeds(values.scripts),
    start: (folder) => startGalera(folder, port, values.scripts),
    order: (replica) => [[1, 2, 3] as const, [2, 3, 1] as const, [3, 1, 2] as const][replica] ?? [1, 2, 3],
  },
  {
    name: "group",
    needs: whatGroupNeeds(program),
    // Inside of the root of mysqld.
    start: (folder) => startGroup(program, folder, port),
    order: () => [1, 2, 3],
  },
];

const started = Date.now();
const log = (line: string) => process.stdout.write(`${((Date.now() - started) / 1000).toFixed(0)} s: ${line}\n`);

const inSeconds = (ms: number) => (ms / 1000).toFixed(1);

/** @returns the table of times, and what went wrong */
async function runCase({ name, start, order }: Case): Promise<{ times: FaultTimes[]; faults: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "stoa-cluster-"));
  log(`${name}: starting the servers`);
  const servers = await start(folder);
  const pools: TestDatabase[] = [];
  try {
    await query(servers.ports[1], "CREATE DATABASE stoa CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    for (const n of nodes) {
      const config = { host: "127.0.0.1", port: servers.ports[n], user: "root", database: "stoa" };
      await waitUntil(
        "the database",
        async () => (await query(servers.ports[n], "SHOW DATABASES LIKE 'stoa'")).length > 0,
        joinMs,
      );
      const pool = createPool({ ...config, connectionLimit: 2, supportBigNumbers: true });
      const rows = async <Row>(sql: string, params: unknown[] = []) =>
        (await pool.query<RowDataPacket[]>(sql, params as never))[0] as Row[];
      pools.push({ config, pool, rows });
    }
    const urlOf = (replica: number) =>
      `mysql://root@${order(replica)
        .map((n) => `127.0.0.1:${servers.ports[n]}`)
        .join(",")}/stoa`;
    let times: FaultTimes[] = [];
    const report = await hammer({
      db: pools[0] as TestDatabase,
      alsoIn: pools.slice(1),
      replicas: [0, 1, 2].map((replica) => ({
        STOA_DATABASE_URL: urlOf(replica),
        STOA_LEDGER_TRIGGERS: values.triggers,
      })),
      agents: Number(values.agents),
      sealers: 2,
      chaos: async (replicas) => {
        const { urls } = replicas;
        const probers = [0, 1, 2].map((replica) => new Prober(`p${replica}`, () => urls()[replica] as string));
        const bare = new BareWriter(servers);
        let isOver = false;
        const probing = [...probers, bare].map((each) => each.run(() => isOver));
        const restart = replicas.restart.bind(replicas);
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
    const { faults, ...rest } = report;
    log(`${name}: ${JSON.stringify(rest)}`);
    return { times, faults };
  } finally {
    for (const { pool } of pools) await pool.end().catch(() => {});
    await servers.stop();
    rmSync(folder, { recursive: true, force: true });
    if (values.root !== undefined) rmSync(join(values.root, folder), { recursive: true, force: true });
  }
}

if (values.help) {
  process.stdout.write(help);
} else {
  const chosen = cases.filter(({ name }) => values.case === undefined || values.case === name);
  if (chosen.length === 0) throw new Error(`there is no case ${values.case}`);
  for (const each of chosen) {
    if (each.needs !== undefined) {
      log(`${each.name} cannot run; it needs ${each.needs}`);
      if (values.case !== undefined) process.exitCode = 1;
      continue;
    }
    const { times, faults } = await runCase(each);
    process.stdout.write(`\n| ${each.name} | times | no writes for | the driver alone |\n|---|---|---|---|\n`);
    for (const { fault, rounds, fastestMs, slowestMs, bareMs } of times) {
      const pauses = new Set([fastestMs, slowestMs].map(inSeconds));
      process.stdout.write(`| ${fault} | ${rounds} | ${[...pauses].join(" to ")} s | ${inSeconds(bareMs)} s |\n`);
    }
    log(
      faults.length === 0
        ? `${each.name}: nothing lost, nothing doubled`
        : `${faults.length} faults:\n${faults.slice(0, 50).join("\n")}`,
    );
    if (faults.length > 0) process.exitCode = 1;
  }
}
