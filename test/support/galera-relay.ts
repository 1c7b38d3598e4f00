import type { DatabaseConfig } from "../../src/config/config.ts";
import { serverOf } from "./database-link.ts";
import { type Relay, startRelay } from "./relay.ts";

export interface GaleraRelay extends Relay {
  config: DatabaseConfig;
  /** Whether the server is disguised from now on; at first it is. */
  isNode: boolean;
}

/** The question for the name of Galera's plugin, on MariaDB and on MySQL. */
const question = /\(SELECT variable_value FROM information_schema.*?\)(?= \*\/)|(?<=80000 )NULL(?= \*\/ AS galera)/gs;

/**
 * Starts a relay through which a server says that it is a node of a Galera cluster: the question for its state is changed on
 * the way. Reads do not wait for other nodes, because this server lacks the variable for that.
 */
export async function startGaleraRelay(upstream: DatabaseConfig): Promise<GaleraRelay> {
  const relay = await startRelay(serverOf(upstream), (client, server) => {
    client.on("data", (bytes: Buffer) => {
      if (!galera.isNode) return void server.write(bytes);
      const text = bytes.toString("latin1");
      const changed = text.replaceAll(question, (asked) => "'x'".padEnd(asked.length));
      server.write(Buffer.from(changed, "latin1"));
    });
    server.pipe(client);
  });
  const { socketPath: _, ...account } = upstream;
  const config = { ...account, host: "127.0.0.1", port: relay.port, syncReads: false };
  const galera: GaleraRelay = Object.assign(relay, { config, isNode: true });
  return galera;
}
