import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterFile } from "../support/after-file.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { nodeEnvironment } from "../support/node-environment.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import { startEnvironment, startFlags } from "../support/start-script.ts";
import { waitUntil } from "../support/wait.ts";
import { examples, type ProxyName } from "./examples.ts";
import { makeNetwork } from "./namespace.ts";
import type { NeighbourReply } from "./neighbour.ts";
import { type RunningProxy, startProxy } from "./proxy.ts";

const firewall = fileURLToPath(new URL("../../deploy/nftables/stoa.nft", import.meta.url));
/** The port of the examples and of the firewall's rules. The network is not that of this machine, so it is free. */
const port = 443;
const replicaPorts = ["18081", "18082"] as const;

/** How many answers the neighbour gets while an attack is in full swing: reads and calls over each way, and writes. */
const reads = 150;
const writes = 5;

/** Two replicas behind a proxy, in a network of their own, where they can be attacked. */
export interface Siege {
  replicas: readonly ServiceProcess[];
  proxy: RunningProxy;
  /** Makes an attack while a neighbour goes on reading and writing. */
  endure(attack: string): Promise<Endured>;
}

export interface Endured {
  /** All replies to the neighbour, from before the attack until after it. */
  replies: NeighbourReply[];
  /** What the attacker has done. */
  tally: Record<string, number>;
}

/** Ends after the last test of the file. The proxy runs as it is shipped, and the replicas as `npm start` runs them. */
export async function laySiege(name: ProxyName): Promise<Siege> {
  const db = await createDatabaseWithSchema();
  if (db.config.socketPath === undefined) {
    throw new Error("the replicas reach the database from another network: it needs a socket (mysql://…?socket=/path)");
  }
  const within = await makeNetwork(examples[name].boundsConnections ? undefined : firewall);
  const replicas = replicaPorts.map(
    (each) =>
      new ServiceProcess(
        {
          ...startEnvironment,
          STOA_PORT: each,
          STOA_METRICS_PORT: "none",
          STOA_SITE_URL: "https://localhost",
          STOA_TRUST_PROXY: "127.0.0.1",
          STOA_LOG_LEVEL: "warn",
          STOA_DATABASE_URL: urlOf(db.config),
        },
        { flags: startFlags, within },
      ),
  );
  for (const replica of replicas) {
    afterFile(() => replica.end("SIGTERM"));
    await replica.url();
  }
  const addresses = replicaPorts.map((each) => `127.0.0.1:${each}`);
  const proxy = await startProxy(name, addresses, { within, port });
  const setUp = run("set-up.ts", [String(port), proxy.ca], within);
  const [key] = (await once(setUp, "message")) as [string];
  await once(setUp, "exit");

  return {
    replicas,
    proxy,
    async endure(attack) {
      const neighbour = run("neighbour.ts", [String(port), proxy.ca, key, "1"], within);
      const replies: NeighbourReply[] = [];
      neighbour.on("message", (reply) => replies.push(reply as NeighbourReply));
      const answered = (since = 0) => {
        const all = replies.slice(since);
        const written = all.filter(({ request }) => request === "a write").length;
        return all.length - written >= reads && written >= writes;
      };
      await waitUntil("the neighbour to be served", () => replies.length > 10);
      const attacker = run("attacks/attacker.ts", [attack, String(port)], within);
      const said = once(attacker, "message");
      await Promise.race([said, once(attacker, "exit").then(fail(attack))]);
      const begun = replies.length;
      await waitUntil("the neighbour to be served during the attack", () => answered(begun));
      const told = once(attacker, "message");
      attacker.send("tally");
      const [tally] = (await told) as [Record<string, number>];
      await leave(attacker);
      // What an attack leaves behind counts, too.
      const ended = replies.length;
      await waitUntil("the neighbour to be served after the attack", () => replies.length > ended + 20);
      await leave(neighbour);
      return { replies, tally };
    },
  };
}

const fail = (attack: string) => (): never => {
  throw new Error(`the attacker has ended: ${attack}`);
};

function run(file: string, args: string[], within: readonly string[]): ChildProcess {
  const script = fileURLToPath(new URL(file, import.meta.url));
  const [program, ...all] = [...within, process.execPath, "--disable-warning=ExperimentalWarning", script, ...args];
  const child = spawn(program as string, all, { env: nodeEnvironment, stdio: ["ignore", "inherit", "inherit", "ipc"] });
  afterFile(() => leave(child));
  return child;
}

async function leave(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.disconnect();
  await exited;
}
