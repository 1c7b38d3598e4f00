import { setTimeout as sleep } from "node:timers/promises";
import type { Fault } from "../fault.ts";

export const databaseGone: Fault = {
  name: "Database gone",
  done: "The database refuses every connection for a minute.",
  seen: "Reads, writes and /readyz get 503 `unavailable` with Retry-After at once. /healthz is 200: you need not restart the process.",
  during: { read: [200, 503], write: [404, 503], ready: [200, 503] },
  open: (stage) => stage.openBehindRelay(),
  async harm({ relay, url }) {
    await relay.close();
    await sleep(60_000);
    const { status } = await fetch(`${url}/healthz`);
    return status === 200 ? [] : [`/healthz: ${status}`];
  },
  mend: ({ relay }) => relay.open(),
};
