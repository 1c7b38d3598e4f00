// Three members of MySQL Group Replication, of which one or each is a primary.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "../support/wait.ts";
import { startNetwork } from "./network.ts";
import {
  type Command,
  joinMs,
  type NodeNumber,
  nodes,
  Processes,
  query,
  run,
  ServerProcess,
  type Servers,
  untilAnswers,
} from "./servers.ts";

const groupName = "5710a5b0-aaaa-4bbb-8ccc-000000000001";

/** Where MySQL is: `mysqld` on the PATH, or in the private root of an installation beside. */
export interface MysqlProgram {
  mysqld: string;
  /** The folder that `mysqld` is run in by chroot. */
  root: string | undefined;
}

/** What is missing on this machine; undefined if nothing is. */
export function whatGroupNeeds(program: MysqlProgram): string | undefined {
  const path = join(program.root ?? "/", program.mysqld);
  const [command, ...args] = commandOf(program);
  // MariaDB brings a program of this name as well.
  const isMariadb = () => execFileSync(command, [...args, "--version"], { encoding: "utf8" }).includes("MariaDB");
  if (existsSync(path) && !isMariadb()) return undefined;
  return `MySQL 8.4 or 9 with the plugin group_replication: ${path} is none; name it by --mysqld, and by --root where it needs a root folder of its own`;
}

function commandOf({ mysqld, root }: MysqlProgram): Command {
  return root === undefined ? [mysqld] : ["chroot", root, mysqld];
}

export interface GroupOptions {
  /** Where the data are, inside of the root folder of the program if there is one. */
  folder: string;
  basePort: number;
  /** How many members take writes. */
  primaries: 1 | 3;
  log(line: string): void;
}

export async function startGroup(
  program: MysqlProgram,
  { folder, basePort, primaries, log }: GroupOptions,
): Promise<Servers> {
  const network = await startNetwork(basePort);
  const addressOf = (n: NodeNumber) => ({ host: network.hostOf(n), port: basePort + n });
  const addresses = { 1: addressOf(1), 2: addressOf(2), 3: addressOf(3) };
  const outside = join(program.root ?? "/", folder);
  const command = commandOf(program);
  const groupAddress = (n: NodeNumber) => `${network.peerHostOf(n)}:${basePort + 10 + n}`;
  const running = new Processes();
  if (network.lacks !== undefined) log(`no member will be cut off from the others: ${network.lacks}`);
  const uuidOf = (n: NodeNumber) => `5710a5b0-0000-4000-8000-00000000000${n}`;

  const start = async (n: NodeNumber, ...more: string[]) => {
    const args = [
      "--no-defaults",
      "--user=root",
      `--datadir=${folder}/n${n}`,
      `--socket=${folder}/n${n}.sock`,
      `--pid-file=${folder}/n${n}.pid`,
      `--port=${addresses[n].port}`,
      `--bind-address=${[...new Set(["127.0.0.1", network.hostOf(n), network.peerHostOf(n)])].join(",")}`,
      "--skip-name-resolve",
      "--mysqlx=OFF",
      "--secure-file-priv=NULL",
      "--max-connections=500",
      "--performance-schema-max-table-handles=500",
      `--server-id=${n}`,
      "--gtid-mode=ON",
      "--enforce-gtid-consistency=ON",
      "--log-bin-trust-function-creators=ON",
      `--report-host=${network.peerHostOf(n)}`,
      "--plugin-load-add=group_replication.so",
      `--loose-group_replication_group_name=${groupName}`,
      "--loose-group_replication_start_on_boot=OFF",
      "--loose-group_replication_communication_stack=XCOM",
      `--loose-group_replication_local_address=${groupAddress(n)}`,
      `--loose-group_replication_group_seeds=${nodes.map(groupAddress).join(",")}`,
      `--loose-group_replication_ip_allowlist=${network.peers}`,
      "--loose-group_replication_recovery_get_public_key=ON",
      "--loose-group_replication_member_expel_timeout=0",
      "--loose-group_replication_unreachable_majority_timeout=5",
      "--loose-group_replication_exit_state_action=READ_ONLY",
      ...(primaries === 1
        ? []
        : [
            "--loose-group_replication_single_primary_mode=OFF",
            "--loose-group_replication_enforce_update_everywhere_checks=ON",
          ]),
      ...more,
    ];
    running.set(n, new ServerProcess(network.enter(n, [...command, ...args]), join(outside, `n${n}.log`)));
    await untilAnswers(addresses[n]);
  };
  const joinGroup = (n: NodeNumber) =>
    query(
      addresses[n],
      "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'",
      "START GROUP_REPLICATION",
    );
  const stateAt = async (at: NodeNumber, of: NodeNumber) => {
    const rows = await query<{ state: string }>(
      addresses[at],
      `SELECT member_state AS state FROM performance_schema.replication_group_members WHERE member_id = '${uuidOf(of)}'`,
    ).catch(() => []);
    return rows[0]?.state;
  };
  /** Whether a member itself says so, and another one too: one that was frozen does not know yet that it was expelled. */
  const isMember = async (n: NodeNumber) => {
    const states = await Promise.all([n, ...nodes].map((at) => stateAt(at, n)));
    return (
      states[0] === "ONLINE" && states.filter((state) => state === "ONLINE").length >= Math.min(running.size, 2) + 1
    );
  };
  const untilMember = (n: NodeNumber) => waitUntil(`member ${n} to be online`, () => isMember(n), joinMs);

  const begin = running.begin(async () => {
    mkdirSync(outside, { recursive: true });
    writeFileSync(
      join(outside, "accounts.sql"),
      "CREATE USER root@'%' IDENTIFIED BY '';\nGRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;\n",
    );
    for (const n of nodes) {
      await run([
        ...command,
        "--no-defaults",
        "--initialize-insecure",
        "--user=root",
        `--datadir=${folder}/n${n}`,
        `--init-file=${folder}/accounts.sql`,
      ]);
      writeFileSync(join(outside, `n${n}`, "auto.cnf"), `[auto]\nserver-uuid=${uuidOf(n)}\n`);
      await start(n);
      if (n === 1)
        await query(addresses[1], "SET GLOBAL group_replication_bootstrap_group = ON", "RESET BINARY LOGS AND GTIDS");
      else await query(addresses[n], "RESET BINARY LOGS AND GTIDS");
      await joinGroup(n);
      if (n === 1) await query(addresses[1], "SET GLOBAL group_replication_bootstrap_group = OFF");
      await untilMember(n);
    }
  });
  await begin.catch(async (error) => {
    await network.remove();
    throw error;
  });

  return {
    name: "Group Replication",
    addresses,
    isMember,
    ...running.faults,
    async stop() {
      await running.faults.stop();
      await network.remove();
    },
    async rejoin(n) {
      // What a server took before it has joined would keep it out.
      if (!running.isRunning(n)) await start(n, "--super-read-only=ON");
      // A member that was expelled tries by itself as well, but only after minutes.
      const join = async () => {
        const state = await stateAt(n, n);
        if (state === "ERROR") await query(addresses[n], "STOP GROUP_REPLICATION").catch(() => {});
        if (state !== "ONLINE" && state !== "RECOVERING") await joinGroup(n).catch(() => {});
        return isMember(n);
      };
      await waitUntil(`member ${n} to be online again`, join, joinMs);
    },
    ...(network.lacks === undefined && { partition: (n) => network.cut(n), heal: (n) => network.mend(n) }),
    ...(primaries === 1 && {
      async switchTo(n) {
        await query(addresses[n], `SELECT group_replication_set_as_primary('${uuidOf(n)}')`);
      },
    }),
  };
}
