import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "../fault.ts";

export const databaseStopped: Fault = {
  name: "Database stopped",
  done: "The server of the private database is stopped (SIGSTOP) for 30 s.",
  seen: "Reads and writes get 503 `unavailable` after up to 10 s (`STOA_DATABASE_TIMEOUT_SECONDS`), /readyz after 5 s. Writes that reached the database may still take effect: repeat them with the same Idempotency-Key.",
  during: { read: [200, 503], write: [404, 503], ready: [200, 503] },
  async harm(stage) {
    process.kill(stage.databasePid(), "SIGSTOP");
    await sleep(30_000);
    return [];
  },
  async mend(stage) {
    process.kill(stage.databasePid(), "SIGCONT");
  },
};
