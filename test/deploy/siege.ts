import { fileURLToPath } from "node:url";
import { afterFile } from "../support/after-file.ts";
import type { NeighbourReply } from "../support/attacked.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../support/database.ts";
import { ServiceProcess, urlOf } from "../support/process.ts";
import { Script } from "../support/script.ts";
import { startService } from "../support/service.ts";
import { startEnvironment, startFlags } from "../support/start-script.ts";
import { waitUntil } from "../support/wait.ts";
import { examples, type ProxyName } from "./examples.ts";
import { makeNetwork } from "./namespace.ts";
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
  /**
   * Makes an attack while a neighbour goes on reading and writing.
   * @returns all replies to the neighbour, from before the attack until after it, and what the attacker has done
   */
  endure(attack: string): Promise<{ replies: NeighbourReply[]; tally: Tally }>;
}

type Tally = Record<string, number>;

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
  const run = <Message>(module: string, ...args: string[]) =>
    new Script<Message>(new URL(module, import.meta.url), args, within);
  const key = await fillBoard(db);

  return {
    replicas,
    proxy,
    async endure(attack) {
      const neighbour = run<NeighbourReply>("neighbour.ts", String(port), proxy.ca, key, "1");
      const replies = neighbour.said;
      const answered = (since: number) => {
        const all = replies.slice(since);
        const written = all.filter(({ request }) => request === "a write").length;
        return all.length - written >= reads && written >= writes;
      };
      await waitUntil("the neighbour to be served", () => replies.length > 10);
      const attacker = run<Tally>("attacks/attacker.ts", attack, String(port));
      await attacker.next();
      const begun = replies.length;
      await waitUntil("the neighbour to be served during the attack", () => answered(begun));
      const tally = await attacker.ask("tally");
      await attacker.leave();
      // What an attack leaves behind counts, too.
      const ended = replies.length;
      await waitUntil("the neighbour to be served after the attack", () => replies.length > ended + 20);
      await neighbour.leave();
      return { replies, tally };
    },
  };
}

/** Writes posts of 9 KB, by a service beside. @returns the key of their author */
async function fillBoard(db: TestDatabase): Promise<string> {
  const { rest, register, app } = await startService({ db });
  const { key } = await register("Neighbour");
  for (let n = 0; n < 50; n++) {
    const { status } = await rest("posts", { key, body: { title: `Post ${n}`, body: "words ".repeat(1_500) } });
    if (status !== 201) throw new Error(`a post: ${status}`);
  }
  await app.close();
  return key;
}
