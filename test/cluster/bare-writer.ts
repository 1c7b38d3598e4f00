import { setTimeout as sleep } from "node:timers/promises";
import { type Connection, createConnection } from "mysql2/promise";
import { Pauses } from "./pauses.ts";
import { type Address, nodes, query, type Servers } from "./servers.ts";

const everyMs = 50;
/** How long a statement may take before its connection is given up, in milliseconds. */
const answerMs = 20_000;

/**
 * Writes rows to every server by the driver alone, on one connection each, which is opened again when it is lost. So it finds
 * how long a fault keeps the engine itself from writing: as long as no server takes a row.
 */
export class BareWriter {
  readonly pauses = new Pauses();
  readonly #addresses: Servers["addresses"];

  constructor({ addresses }: Servers) {
    this.#addresses = addresses;
  }

  async run(stopped: () => boolean): Promise<void> {
    await query(
      this.#addresses[1],
      "CREATE DATABASE bare",
      "CREATE TABLE bare.writes (id BIGINT AUTO_INCREMENT PRIMARY KEY, at BIGINT NOT NULL)",
    );
    await Promise.all(nodes.map((n) => this.#writeTo(this.#addresses[n], stopped)));
  }

  async #writeTo({ host, port }: Address, stopped: () => boolean): Promise<void> {
    let connection: Connection | undefined;
    for (; !stopped(); await sleep(everyMs)) {
      const begun = Date.now();
      try {
        connection ??= await createConnection({ host, port, user: "root", connectTimeout: 1_000 });
        await within(connection, connection.query("INSERT INTO bare.writes (at) VALUES (?)", [begun]));
        this.pauses.good(begun);
      } catch (error) {
        if ((error as { fatal?: boolean }).fatal !== true) continue;
        connection?.destroy();
        connection = undefined;
      }
    }
    connection?.destroy();
  }
}

/** A statement on a frozen server ends with its connection. */
async function within(connection: Connection, statement: Promise<unknown>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    connection.destroy();
    reject(Object.assign(new Error("The server does not answer."), { fatal: true }));
  }, answerMs);
  try {
    await Promise.race([statement, promise]);
  } finally {
    clearTimeout(timer);
    statement.catch(() => {});
  }
}
