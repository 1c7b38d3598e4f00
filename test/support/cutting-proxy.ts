import type { DatabaseConfig } from "../../src/config.ts";
import { serverOf } from "./database-link.ts";
import { startRelay } from "./relay.ts";

/** Where a connection is cut: the command is not sent on, or its outcome is not sent back. */
export type Cut = "before" | "after";

/** Stands between the service and its database, and cuts the connection at a command that the test chooses. */
export interface CuttingProxy {
  config: DatabaseConfig;
  /** Cuts once, at the command of this number from now on, counted over all connections from 1. */
  cutAt(number: number, when: Cut): void;
  /** Whether the cut has been made, and takes it back otherwise. */
  wasCut(): boolean;
}

/** Starts a proxy on a free port; it stops after the file's last test. */
export async function startCuttingProxy(upstream: DatabaseConfig): Promise<CuttingProxy> {
  let remaining = 0;
  let when: Cut = "before";
  let cut = false;
  const { port } = await startRelay(serverOf(upstream), (client, database) => {
    let answerIsLost = false;
    client.on("data", (bytes) => {
      // The fourth byte of a packet counts the packets of a command: 0 begins one. Commands are small, and come one by one.
      if (bytes[3] === 0 && remaining > 0 && --remaining === 0) {
        cut = true;
        if (when === "before") {
          client.destroy();
          return;
        }
        answerIsLost = true;
      }
      database.write(bytes);
    });
    database.on("data", (bytes) => {
      // The database has answered: what was asked for has been done.
      if (answerIsLost) client.destroy();
      else client.write(bytes);
    });
  });
  const { socketPath: _socketPath, ...account } = upstream;
  return {
    config: { ...account, host: "127.0.0.1", port },
    cutAt(number, moment) {
      remaining = number;
      when = moment;
      cut = false;
    },
    wasCut() {
      remaining = 0;
      return cut;
    },
  };
}
