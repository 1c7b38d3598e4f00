import { waitUntil } from "../../support/wait.ts";
import type { Fault } from "../fault.ts";

export const databaseKilled: Fault = {
  name: "Database killed",
  done: "The server of the private database is killed (SIGKILL) under load. The service starts it again.",
  seen: "Reads, writes and /readyz get 503 `unavailable` with Retry-After for a second or two.",
  during: { read: [200, 503], write: [404, 503], ready: [200, 503] },
  async harm(stage) {
    const killed = stage.databasePid();
    process.kill(killed, "SIGKILL");
    await waitUntil("another server", () => stage.databasePid() !== killed);
    return [];
  },
};
