import { connect, createServer, type Socket } from "node:net";
import { afterAll } from "vitest";
import type { DatabaseConfig } from "../../src/config.ts";

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
  const { host, port, socketPath, ...account } = upstream;
  let remaining = 0;
  let when: Cut = "before";
  let cut = false;
  const open = new Set<Socket>();

  const server = createServer((client) => {
    const database = socketPath === undefined ? connect(port ?? 3306, host) : connect(socketPath);
    const end = () => {
      client.destroy();
      database.destroy();
    };
    let answerIsLost = false;
    for (const socket of [client, database]) {
      open.add(socket);
      socket.on("error", end);
      socket.on("close", () => {
        open.delete(socket);
        end();
      });
    }
    client.on("data", (bytes) => {
      // The fourth byte of a packet counts the packets of a command: 0 begins one. Commands are small, and come one by one.
      if (bytes[3] === 0 && remaining > 0 && --remaining === 0) {
        cut = true;
        if (when === "before") return end();
        answerIsLost = true;
      }
      database.write(bytes);
      return undefined;
    });
    database.on("data", (bytes) => {
      // The database has answered: what was asked for has been done.
      if (answerIsLost) end();
      else client.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    config: { ...account, host: "127.0.0.1", port: (server.address() as { port: number }).port },
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
