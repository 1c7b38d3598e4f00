import { setTimeout as sleep } from "node:timers/promises";
import { type Fault, fine } from "../fault.ts";
import { Stage } from "../stage.ts";
import { dropTriggers, triggersOf } from "../triggers.ts";

export const triggersDropped: Fault = {
  name: "Dropped triggers",
  done: "The triggers that protect receipts from changes are dropped. A restore without triggers has the same effect.",
  seen: "Nothing. Within a minute /readyz has a warning that names the triggers. The next start creates them again.",
  during: fine,
  open: () => Stage.onPrivateDatabase(),
  async harm(stage) {
    await stage.withDatabase(dropTriggers);
    for (let seconds = 0; seconds < 60; seconds++) {
      const { warning } = (await (await fetch(`${stage.url}/readyz`)).json()) as { warning?: string };
      if (warning?.includes("triggers")) return [];
      await sleep(1_000);
    }
    return ["/readyz has no warning after a minute"];
  },
  async mend(stage) {
    await stage.service.end("SIGTERM");
    await stage.start();
    const found = await stage.withDatabase(triggersOf);
    if (found.length === 0) throw new Error("the triggers are not there again");
  },
};
