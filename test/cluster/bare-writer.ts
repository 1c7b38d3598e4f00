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
        await connection.query({ sql: "INSERT INTO bare.writes (at) VALUES (?)", timeout: answerMs }, [begun]);
        this.pauses.good(begun);
      } catch (error) {
        const { fatal, code } = error as { fatal?: boolean; code?: string };
        // A statement on a frozen server ends with its connection.
        if (fatal !== true && code !== "PROTOCOL_SEQUENCE_TIMEOUT") continue;
        connection?.destroy();
        connection = undefined;
      }
    }
    connection?.destroy();
  }
}
