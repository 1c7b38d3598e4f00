// Three nodes of MariaDB with Galera.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "../support/wait.ts";
import { joinMs, type NodeNumber, nodes, Processes, query, run, ServerProcess, type Servers } from "./servers.ts";

const provider = "/usr/lib/galera/libgalera_smm.so";

/** What docs/operating.md recommends: a node that is gone is noticed within two seconds. */
const timers =
  "evs.keepalive_period=PT0.3S;evs.inactive_check_period=PT0.3S;evs.suspect_timeout=PT1S;evs.inactive_timeout=PT2S;evs.install_timeout=PT2S";

/** What is missing on this machine; undefined if nothing is. */
export function whatGaleraNeeds(scripts: string): string | undefined {
  const isThere = (name: string) => (process.env.PATH ?? "").split(":").some((each) => existsSync(join(each, name)));
  // Without the last two, no node could copy the data of another one.
  if (!existsSync(provider) || !["mariadbd", "mariabackup", "socat"].every(isThere))
    return "MariaDB with Galera 4: apt-get install mariadb-server-core mariadb-backup galera-4 socat";
  if (existsSync(join(scripts, "wsrep_sst_mariabackup"))) return undefined;
  return "Galera's scripts: the folder usr/bin of Debian's package mariadb-server, unpacked by dpkg -x and named by --scripts";
}

/** @param scripts the folder of wsrep_sst_mariabackup */
export async function startGalera(folder: string, basePort: number, scripts: string): Promise<Servers> {
  const addressOf = (n: NodeNumber) => ({ host: "127.0.0.1", port: basePort + n });
  const addresses = { 1: addressOf(1), 2: addressOf(2), 3: addressOf(3) };
  const dataOf = (n: NodeNumber) => join(folder, `n${n}`);
  const groupPort = (n: NodeNumber) => basePort + 10 + n;
  const running = new Processes();

  const args = (n: NodeNumber) => [
    "--no-defaults",
    "--user=root",
    `--datadir=${dataOf(n)}`,
    `--socket=${join(folder, `n${n}.sock`)}`,
    `--pid-file=${join(folder, `n${n}.pid`)}`,
    `--port=${addresses[n].port}`,
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--max-connections=500",
    "--binlog-format=ROW",
    "--innodb-autoinc-lock-mode=2",
    "--innodb-flush-log-at-trx-commit=1",
    "--wsrep-on=ON",
    `--wsrep-provider=${provider}`,
    "--wsrep-cluster-name=stoa",
    `--wsrep-cluster-address=gcomm://${nodes.map((each) => `127.0.0.1:${groupPort(each)}`).join(",")}`,
    "--wsrep-sst-method=mariabackup",
    "--wsrep-sst-auth=root:",
    `--wsrep-sst-receive-address=127.0.0.1:${basePort + 30 + n}`,
    `--wsrep-node-name=n${n}`,
    `--wsrep-node-address=127.0.0.1:${groupPort(n)}`,
    `--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:${groupPort(n)};ist.recv_addr=127.0.0.1:${basePort + 20 + n};base_port=${groupPort(n)};gcache.size=512M;${timers}`,
  ];
  const start = (n: NodeNumber, ...more: string[]) => {
    running.set(n, new ServerProcess(["mariadbd", ...args(n), ...more], join(folder, `n${n}.log`), scripts));
  };
  const isMember = async (n: NodeNumber) => {
    const rows = await query<{ Value: string }>(
      addresses[n],
      "SHOW GLOBAL STATUS WHERE Variable_name = 'wsrep_local_state_comment'",
    ).catch(() => []);
    return rows[0]?.Value === "Synced";
  };
  const untilMember = (n: NodeNumber) => waitUntil(`node ${n} to be synced`, () => isMember(n), joinMs);
  const provide = (n: NodeNumber, option: string) =>
    query(addresses[n], `SET GLOBAL wsrep_provider_options = '${option}'`);

  await running.begin(async () => {
    mkdirSync(folder, { recursive: true });
    for (const n of nodes) {
      await run([
        "mariadb-install-db",
        "--no-defaults",
        `--datadir=${dataOf(n)}`,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
        "--user=root",
      ]);
    }
    start(1, "--wsrep-new-cluster");
    await untilMember(1);
    for (const n of [2, 3] as const) {
      start(n);
      await untilMember(n);
    }
  });

  return {
    name: "Galera",
    addresses,
    isMember,
    ...running.faults,
    async rejoin(n) {
      if (running.isRunning(n)) return untilMember(n);
      // After a kill, the engine's log says up to where the node had come. If what it lacks is gone from the caches of the
      // others, it gets everything from one of them. A node that fails at that begins again. Only the position is asked, so
      // nothing is purged: MariaDB 10.11.19 may purge for ever before it tells, and then takes all memory.
      const startAgain = async () => {
        const recover = ["--wsrep-recover", "--innodb-force-recovery=2", "--log-error="];
        const output = await run(["mariadbd", ...args(n), ...recover]).catch(() => "");
        const position = /Recovered position: (\S+)/.exec(output)?.[1];
        start(n, ...(position === undefined ? [] : [`--wsrep-start-position=${position}`]));
      };
      const comesBack = async () => {
        if (!running.isRunning(n)) await startAgain();
        return isMember(n);
      };
      await waitUntil(`node ${n} to be synced again`, comesBack, joinMs);
    },
    partition: async (n) => void (await provide(n, "gmcast.isolate=1")),
    heal: async (n) => void (await provide(n, "gmcast.isolate=0")),
  };
}
