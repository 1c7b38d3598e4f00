// Three members of MySQL Group Replication, one of which is the primary.
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "../support/wait.ts";
import {
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
export function whatGroupNeeds({ mysqld, root }: MysqlProgram): string | undefined {
  if (existsSync(join(root ?? "/", mysqld))) return undefined;
  return `MySQL 8.4 or 9 with the plugin group_replication: there is no ${join(root ?? "/", mysqld)}; name it by --mysqld, and by --root where it needs a root folder of its own`;
}

/** @param folder inside of `root` if there is one */
export async function startGroup(program: MysqlProgram, folder: string, basePort: number): Promise<Servers> {
  const { mysqld, root } = program;
  const ports = { 1: basePort + 1, 2: basePort + 2, 3: basePort + 3 };
  const outside = join(root ?? "/", folder);
  const [command, ...before] = root === undefined ? [mysqld] : ["chroot", root, mysqld];
  const groupPort = (n: NodeNumber) => basePort + 10 + n;
  const running = new Processes();
  const uuidOf = (n: NodeNumber) => `5710a5b0-0000-4000-8000-00000000000${n}`;

  const start = async (n: NodeNumber) => {
    const args = [
      "--no-defaults",
      "--user=root",
      `--datadir=${folder}/n${n}`,
      `--socket=${folder}/n${n}.sock`,
      `--pid-file=${folder}/n${n}.pid`,
      `--port=${ports[n]}`,
      "--bind-address=127.0.0.1",
      "--mysqlx=OFF",
      "--secure-file-priv=NULL",
      "--max-connections=500",
      "--performance-schema-max-table-handles=500",
      `--server-id=${n}`,
      "--gtid-mode=ON",
      "--enforce-gtid-consistency=ON",
      "--log-bin-trust-function-creators=ON",
      "--report-host=127.0.0.1",
      "--plugin-load-add=group_replication.so",
      `--loose-group_replication_group_name=${groupName}`,
      "--loose-group_replication_start_on_boot=OFF",
      "--loose-group_replication_communication_stack=XCOM",
      `--loose-group_replication_local_address=127.0.0.1:${groupPort(n)}`,
      `--loose-group_replication_group_seeds=${nodes.map((each) => `127.0.0.1:${groupPort(each)}`).join(",")}`,
      "--loose-group_replication_ip_allowlist=127.0.0.1",
      "--loose-group_replication_recovery_get_public_key=ON",
      "--loose-group_replication_member_expel_timeout=0",
      "--loose-group_replication_unreachable_majority_timeout=5",
      "--loose-group_replication_exit_state_action=READ_ONLY",
    ];
    running.set(n, new ServerProcess(command as string, [...before, ...args], join(outside, `n${n}.log`)));
    await untilAnswers(ports[n]);
  };
  const joinGroup = (n: NodeNumber) =>
    query(
      ports[n],
      "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'",
      "START GROUP_REPLICATION",
    );
  const stateAt = async (at: NodeNumber, of: NodeNumber) => {
    const rows = await query<{ state: string }>(
      ports[at],
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

  await running.begin(async () => {
    mkdirSync(outside, { recursive: true });
    for (const n of nodes) {
      await run(command as string, [
        ...before,
        "--no-defaults",
        "--initialize-insecure",
        "--user=root",
        `--datadir=${folder}/n${n}`,
      ]);
      writeFileSync(join(outside, `n${n}`, "auto.cnf"), `[auto]\nserver-uuid=${uuidOf(n)}\n`);
      await start(n);
      if (n === 1)
        await query(ports[1], "SET GLOBAL group_replication_bootstrap_group = ON", "RESET BINARY LOGS AND GTIDS");
      else await query(ports[n], "RESET BINARY LOGS AND GTIDS");
      await joinGroup(n);
      if (n === 1) await query(ports[1], "SET GLOBAL group_replication_bootstrap_group = OFF");
      await untilMember(n);
    }
  });

  return {
    name: "Group Replication",
    ports,
    isMember,
    ...running.faults,
    async rejoin(n) {
      if (!running.isRunning(n)) await start(n);
      // A member that was expelled tries by itself as well, but only after minutes.
      const join = async () => {
        const state = await stateAt(n, n);
        if (state === "ERROR") await query(ports[n], "STOP GROUP_REPLICATION").catch(() => {});
        if (state !== "ONLINE" && state !== "RECOVERING") await joinGroup(n).catch(() => {});
        return isMember(n);
      };
      await waitUntil(`member ${n} to be online again`, join, joinMs);
    },
    async switchTo(n) {
      await query(ports[n], `SELECT group_replication_set_as_primary('${uuidOf(n)}')`);
    },
  };
}
