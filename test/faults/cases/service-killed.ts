import { type Fault, fine } from "../fault.ts";

export const serviceKilled: Fault = {
  name: "Service killed",
  done: "The service is killed (SIGKILL) under load. Its private database keeps running. A supervisor starts the service again.",
  seen: "Connections are refused until the service is up. A call without a reply may have taken effect: repeat it with the same Idempotency-Key.",
  during: { read: [0, ...fine.read], write: [0, ...fine.write], ready: [0, ...fine.ready] },
  async harm(stage) {
    await stage.service.end("SIGKILL");
    return [];
  },
  mend: (stage) => stage.service.startAgain(),
};
