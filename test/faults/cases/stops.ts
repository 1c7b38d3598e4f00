import { waitUntil } from "../../support/wait.ts";
import { type Fault, fine } from "../fault.ts";

export const stops: Fault = {
  name: "SIGTERM in each state",
  done: "The service gets SIGTERM: under load; while streams and a verification are running; while the database is frozen; while the database is gone; while a start waits for a frozen database.",
  seen: "Running calls finish. Further calls get 503 `unavailable` or no connection. The process ends within `STOA_DRAIN_SECONDS` plus 10 s, with exit code 0.",
  during: { read: [0, 503, ...fine.read], write: [0, 503, ...fine.write], ready: [0, 503, ...fine.ready] },
  open: (stage) => stage.openBehindRelay(),
  async harm(stage) {
    const { relay, url, service } = stage;
    const wrong = await stage.stop("under load");

    await service.startAgain();
    const stream = await fetch(`${url}/api/v1/house/receipts/stream?follow=true`);
    const underWay = [stream.text(), fetch(`${url}/house/verify`)].map((call) => call.catch(() => {}));
    wrong.push(...(await stage.stop("with a stream and a verification")));
    await Promise.all(underWay);

    await service.startAgain();
    relay.freeze();
    wrong.push(...(await stage.stop("with a frozen database")));

    // The relay may hear of the connections of the process that has ended only now.
    const { taken } = relay;
    service.beginAgain();
    await waitUntil("a connection", () => relay.taken > taken);
    wrong.push(...(await stage.stop("while starting")));
    relay.thaw();

    await service.startAgain();
    await relay.close();
    wrong.push(...(await stage.stop("with a database that is gone")));
    await relay.open();
    return wrong;
  },
  mend: (stage) => stage.service.startAgain(),
};
