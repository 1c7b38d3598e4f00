import { connect, createServer, type Server, type Socket } from "node:net";
import { afterAll, inject } from "vitest";
import type { DatabaseConfig } from "../../src/config.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";

/** A database of the file's own behind a connection that can be cut. */
export interface LinkedDatabase extends TestDatabase {
  /** Ends every connection, and refuses further ones: the database is away. */
  cut(): Promise<void>;
  /** The database is back, at the same address. */
  mend(): Promise<void>;
}

/** Makes the database and the way to it, both until the file's last test. */
export async function createLinkedDatabase(): Promise<LinkedDatabase> {
  const server = inject("server");
  const direct = await createTestDatabase();
  const { user, password, database } = direct.config;
  const sockets = new Set<Socket>();
  const listen = (port: number): Promise<Server> => {
    const { promise, resolve, reject } = Promise.withResolvers<Server>();
    const listener = createServer((near) => {
      const far =
        server.socketPath === undefined ? connect(server.port ?? 3306, server.host) : connect(server.socketPath);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(one);
        one.pipe(other);
        one.on("error", () => other.destroy()).on("close", () => sockets.delete(one));
      }
    });
    listener.once("error", reject).listen(port, "127.0.0.1", () => resolve(listener));
    return promise;
  };
  let listener = await listen(0);
  const { port } = listener.address() as { port: number };
  const cut = async () => {
    const closed = new Promise((resolve) => listener.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  const config: DatabaseConfig = {
    host: "127.0.0.1",
    port,
    user,
    ...(password === undefined ? {} : { password }),
    database,
  };
  afterAll(async () => {
    if (listener.listening) await cut();
  });
  return {
    ...direct,
    config,
    cut,
    async mend() {
      listener = await listen(port);
    },
  };
}
