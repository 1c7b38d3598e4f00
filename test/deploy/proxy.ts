import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterFile } from "../support/after-file.ts";
import { freePort } from "../support/free-port.ts";
import { waitUntil } from "../support/wait.ts";
import { ask } from "./client.ts";
import { type Example, examples, type ProxyName } from "./examples.ts";
import { makeSite } from "./site.ts";

/** A proxy that runs with its example. */
export interface RunningProxy {
  port: number;
  /** Its certificate, in PEM. */
  ca: string;
  pid: number;
  /** What it has written so far. */
  output(): string;
  hasExited(): boolean;
  /** Changes the example, and lets nginx read it again. Resolves when it does; processes with the old one end their requests. */
  reload(edit: (config: string) => string): Promise<void>;
}

interface ProxyOptions {
  within?: readonly string[];
  port?: number;
  edit?: (config: string) => string;
}

/**
 * Starts a proxy with the example of deploy/ before two replicas, and waits for their readiness. It ends after the last test of the file.
 * @param replicas host:port of each
 * @param within a command that runs it, such as `nsenter`; then nobody waits for the replicas
 * @param port a free one by default
 * @param edit changes the configuration further
 * @throws Error if the program is missing, or ends at once
 */
export async function startProxy(
  name: ProxyName,
  replicas: readonly string[],
  { within = [], port, edit = (config) => config }: ProxyOptions = {},
): Promise<RunningProxy> {
  const { config, command, environment }: Example = examples[name];
  const { cert, site } = await makeSite(replicas, port ?? (await freePort()));
  const path = join(site.folder, "config");
  writeFileSync(path, edit(config(site)));
  const [program, ...args] = [...within, ...command(path, site)];
  const child: ChildProcess = spawn(program as string, args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: `${process.env.PATH}:/usr/sbin`, HOME: site.folder, ...environment?.(site) },
  });
  let output = "";
  child.stderr?.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  const exited = once(child, "exit").catch(() => {
    output += `${program} is missing; install it to run this test`;
  });
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  afterFile(async () => {
    child.kill("SIGTERM");
    await exited;
  });
  await waitUntil(`${name} to listen`, () => {
    if (hasExited() || child.pid === undefined) throw new Error(output || `${program} is missing`);
    return isListening(child.pid, site.port);
  });
  const answers = async () => (await ask({ port: site.port, ca: cert }, "/readyz")).status === 200;
  if (within.length === 0) await waitUntil(`${name} to find a replica`, answers);
  return {
    port: site.port,
    ca: cert,
    pid: child.pid as number,
    output: () => output,
    hasExited,
    async reload(change) {
      writeFileSync(path, change(config(site)));
      const before = childrenOf(child.pid as number);
      child.kill("SIGHUP");
      const isNew = (pid: string) => !before.includes(pid);
      await waitUntil("new processes of nginx", () => childrenOf(child.pid as number).some(isNew));
    },
  };
}

/** Whether a port is open in the network of a process, which may not be that of this one. */
function isListening(pid: number, port: number): boolean {
  const listening = "0A";
  const sockets = ["tcp", "tcp6"].flatMap((name) =>
    readFileSync(`/proc/${pid}/net/${name}`, "utf8").trim().split("\n"),
  );
  return sockets.some((line) => {
    const [, local = "", , state] = line.trim().split(/\s+/);
    return state === listening && Number.parseInt(local.split(":")[1] as string, 16) === port;
  });
}

function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
}
