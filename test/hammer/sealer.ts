import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { operatorCaller } from "./operator-caller.ts";
import type { World } from "./world.ts";

/** An internal service that seals sessions by gRPC. */
export async function sealSessions(
  name: string,
  world: World,
  operatorToken: string,
  stopped: () => boolean,
): Promise<void> {
  const { done, random } = world;
  const call = operatorCaller(world, operatorToken);
  for (let count = 1; !stopped(); count++) {
    const book = `${name} ${count}`;
    const request = { book, session: "2026-01-05", source: "feed:hammer" };
    const key = { "idempotency-key": randomUUID() };
    try {
      const seal = call(LedgerOperatorService, (client, options) => client.sealSession(request, options), key);
      const { receipt } = await seal;
      done.sealed.set(book, { seq: Number(receipt?.seq), hash: receipt?.hash as string });
    } catch (error) {
      done.faults.push(`${book}: ${error}`);
    }
    await sleep(random.below(200));
  }
}
