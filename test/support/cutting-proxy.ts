import type { DatabaseConfig } from "../../src/config/config.ts";
import { serverOf } from "./database-link.ts";
import { startRelay } from "./relay.ts";

/** Where a connection is cut: before the command is forwarded, or before its outcome is sent back. */
export type Cut = "before" | "after";

/** How the connection is cut: it is closed, or it stays open and no further byte passes. */
export type Fault = "close" | "freeze";

/** A proxy between the service and its database. It cuts the connection at a command that the test chooses. */
export interface CuttingProxy {
  config: DatabaseConfig;
  /** Cuts once, at the nth command from now on, counted from 1 over all connections. */
  cutAt(number: number, when: Cut, fault?: Fault): void;
  /** Cuts once, at the next command that contains these words: COMMIT is not in READ COMMITTED. */
  cutAtText(text: string, when: Cut, fault?: Fault): void;
  /** Returns whether the cut has been made, and cancels it if not. */
  wasCut(): boolean;
  /** Whether the cut has been made. */
  isCut(): boolean;
}

/** Starts a proxy on a free port. It stops after the last test of the file. */
export async function startCuttingProxy(upstream: DatabaseConfig): Promise<CuttingProxy> {
  let isDue: (command: Buffer) => boolean = () => false;
  let when: Cut = "before";
  let fault: Fault = "close";
  let cut = false;
  const { port } = await startRelay(serverOf(upstream), (client, database) => {
    let answerIsLost = false;
    let isFrozen = false;
    client.on("data", (bytes) => {
      if (isFrozen) return;
      // The fourth byte of a packet counts the packets of a command: 0 begins one. Commands are small, and come one by one.
      if (bytes[3] === 0 && isDue(bytes)) {
        isDue = () => false;
        cut = true;
        if (when === "before") {
          if (fault === "close") client.destroy();
          else isFrozen = true;
          return;
        }
        answerIsLost = true;
      }
      database.write(bytes);
    });
    database.on("data", (bytes) => {
      // The database has answered, so the command has been executed.
      if (!answerIsLost) client.write(bytes);
      else if (fault === "close") client.destroy();
      else isFrozen = true;
    });
  });
  const { socketPath: _socketPath, ...account } = upstream;
  const arm = (due: typeof isDue, moment: Cut, kind: Fault = "close") => {
    isDue = due;
    when = moment;
    fault = kind;
    cut = false;
  };
  return {
    config: { ...account, host: "127.0.0.1", port },
    cutAt(number, moment, kind) {
      let remaining = number;
      arm(() => --remaining === 0, moment, kind);
    },
    cutAtText(text, moment, kind) {
      const words = new RegExp(`(?<!\\w)${text}(?!\\w)`);
      arm((command) => words.test(command.toString("latin1")), moment, kind);
    },
    isCut: () => cut,
    wasCut() {
      isDue = () => false;
      return cut;
    },
  };
}
