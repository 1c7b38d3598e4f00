import { type Fault, fine } from "../fault.ts";
import { Stage } from "../stage.ts";

export const serviceKilled: Fault = {
  name: "Service killed",
  done: "SIGKILL of the service under load; its private database goes on. Whoever supervises it starts it again.",
  seen: "Connections are refused until the service is up. A call that got no reply may have happened: repeat it under the same Idempotency-Key.",
  during: { read: [0, ...fine.read], write: [0, ...fine.write], ready: [0, ...fine.ready] },
  open: () => Stage.onPrivateDatabase(),
  async harm(stage) {
    await stage.service.end("SIGKILL");
    return [];
  },
  mend: (stage) => stage.start(),
};
