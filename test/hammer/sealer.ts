import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import type { Acknowledged } from "./acknowledged.ts";
import { OperatorCaller } from "./operator-caller.ts";
import type { Random } from "./random.ts";

/** An internal service that seals sessions by gRPC. */
export class Sealer {
  readonly #name: string;
  readonly #random: Random;
  readonly #done: Acknowledged;
  readonly #caller: OperatorCaller;

  constructor(name: string, urls: () => string[], random: Random, done: Acknowledged, token: string) {
    this.#name = name;
    this.#random = random;
    this.#done = done;
    this.#caller = new OperatorCaller(urls, random, token);
  }

  async run(stopped: () => boolean): Promise<void> {
    for (let count = 1; !stopped(); count++) {
      const book = `${this.#name} ${count}`;
      await this.#seal(book).catch((error) => this.#done.faults.push(`${book}: ${error}`));
      await sleep(this.#random.below(200));
    }
  }

  async #seal(book: string): Promise<void> {
    const request = { book, session: "2026-01-05", source: "feed:hammer" };
    const { receipt } = await this.#caller.call(
      LedgerOperatorService,
      (client, options) => client.sealSession(request, options),
      { "idempotency-key": randomUUID() },
    );
    this.#done.sealed.set(book, { seq: Number(receipt?.seq), hash: receipt?.hash as string });
  }
}
