import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "../fault.ts";

export const proxyFrozen: Fault = {
  name: "Frozen proxy",
  done: "A proxy in front of the database keeps all connections open and accepts new ones, but forwards nothing for 20 s.",
  seen: "The same as with a stopped database. The service closes silent connections and opens new ones.",
  during: { read: [200, 503], write: [404, 503], ready: [200, 503] },
  open: (stage) => stage.openBehindRelay(),
  async harm({ relay }) {
    relay.freeze();
    await sleep(20_000);
    return [];
  },
  async mend({ relay }) {
    relay.thaw();
  },
};
