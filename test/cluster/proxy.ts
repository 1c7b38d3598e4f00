// HAProxy between a replica of the service and the servers, with the configuration that operators get.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Address, ServerProcess, untilAnswers } from "./servers.ts";

const folderOfConfigs = new URL("../../deploy/haproxy/", import.meta.url);

/** What is missing on this machine; undefined if nothing is. */
export function whatProxiesNeed(): string | undefined {
  const isThere = (process.env.PATH ?? "").split(":").some((each) => existsSync(join(each, "haproxy")));
  return isThere ? undefined : "HAProxy: apt-get install haproxy";
}

const read = (config: string) => readFileSync(new URL(config, folderOfConfigs), "utf8");

/** The statements that make the account of a proxy, as its configuration has them in a comment. */
export function accountsFor(config: string): string[] {
  return [...read(config).matchAll(/^# +((?:CREATE|GRANT) .*);$/gm)].map(([, statement]) => statement as string);
}

/**
 * Starts a proxy. Resolves when it leads to a server.
 * @param config the file in deploy/haproxy/
 * @param targets the servers in the order in which they are preferred
 * @param folder where its files are put
 */
export async function startDatabaseProxy({
  config,
  port,
  targets,
  folder,
}: {
  config: string;
  port: number;
  targets: readonly Address[];
  folder: string;
}): Promise<ServerProcess> {
  const names = ["database", "database-2", "database-3"];
  let text = read(config).replace("bind :3306", `bind 127.0.0.1:${port}`);
  for (const [index, { host, port: at }] of targets.entries()) {
    const before = ` ${names[index]}:3306`;
    if (!text.includes(before)) throw new Error(`${config} has no server${before}`);
    text = text.replace(before, ` ${host}:${at}`);
  }
  const file = join(folder, `haproxy-${port}.cfg`);
  writeFileSync(file, text);
  const proxy = new ServerProcess(["haproxy", "-db", "-f", file], join(folder, `haproxy-${port}.log`));
  await untilAnswers({ host: "127.0.0.1", port });
  return proxy;
}
