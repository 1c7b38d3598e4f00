import { startGalera, whatGaleraNeeds } from "./galera.ts";
import { type MysqlProgram, startGroup, whatGroupNeeds } from "./group.ts";
import { whatProxiesNeed } from "./proxy.ts";
import type { Servers } from "./servers.ts";

/** A kind of cluster, and how the replicas of the service use it. */
export interface Case {
  name: string;
  /** What is missing on this machine; undefined if nothing is. */
  needs: string | undefined;
  /** The first of the ports. */
  port: number;
  start(folder: string): Promise<Servers>;
  /** The configuration of HAProxy in deploy/haproxy/. */
  proxy: string;
  /** The order of the servers for a replica's HAProxy. */
  order(replica: number): readonly (1 | 2 | 3)[];
}

export interface CaseOptions {
  /** The folder of Galera's scripts. */
  scripts: string;
  /** The first of the ports. */
  port: number;
  program: MysqlProgram;
  log(line: string): void;
}

const sameOrder: Case["order"] = () => [1, 2, 3];
/** Each replica prefers a server of its own. */
const ownFirst: Case["order"] = (replica) =>
  [[1, 2, 3] as const, [2, 3, 1] as const, [3, 1, 2] as const][replica] ?? [1, 2, 3];

export function allCases({ scripts, port, program, log }: CaseOptions): Case[] {
  const galera = (name: string, order: Case["order"]): Case => ({
    name,
    port,
    needs: whatGaleraNeeds(scripts) ?? whatProxiesNeed(),
    start: (folder) => startGalera(folder, port, scripts),
    proxy: "galera.cfg",
    order,
  });
  const group = (name: string, primaries: 1 | 3, order: Case["order"]): Case => ({
    name,
    port,
    needs: whatGroupNeeds(program) ?? whatProxiesNeed(),
    start: (folder) => startGroup(program, { folder, basePort: port, primaries, log }),
    proxy: "group-replication.cfg",
    order,
  });
  return [
    galera("galera-one-writer", sameOrder),
    galera("galera-three-writers", ownFirst),
    group("group", 1, sameOrder),
    group("group-three-primaries", 3, ownFirst),
  ];
}
