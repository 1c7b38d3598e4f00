import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import type { Random } from "./random.ts";

/** An internal service that seals sessions by gRPC. It repeats each call until it is acknowledged. */
export class Sealer {
  /** The acknowledged seq and hash, by book. */
  readonly sealed = new Map<string, { seq: number; hash: string }>();
  readonly faults: string[] = [];
  readonly #name: string;
  readonly #urls: () => string[];
  readonly #random: Random;
  readonly #token: string;
  readonly #transports = new Map<string, Transport>();

  constructor(name: string, urls: () => string[], random: Random, token: string) {
    this.#name = name;
    this.#urls = urls;
    this.#random = random;
    this.#token = token;
  }

  async run(stopped: () => boolean): Promise<void> {
    for (let count = 1; !stopped(); count++) {
      await this.#seal(`${this.#name} ${count}`);
      await sleep(this.#random.below(200));
    }
  }

  async #seal(book: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.#token}`, "idempotency-key": randomUUID() };
    for (;;) {
      // Sometimes there is too little time. Then it is unknown here whether the session was sealed.
      const timeoutMs = this.#random.chance(0.2) ? 1 + this.#random.below(30) : 10_000;
      try {
        const client = createClient(LedgerOperatorService, this.#transport(this.#random.pick(this.#urls())));
        const request = { book, session: "2026-01-05", source: "feed:hammer" };
        const { receipt } = await client.sealSession(request, { headers, timeoutMs });
        this.sealed.set(book, { seq: Number(receipt?.seq), hash: receipt?.hash as string });
        return;
      } catch (error) {
        const { code, rawMessage } = ConnectError.from(error);
        const passing = [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Aborted];
        // A stopping replica refuses streams that begin after its GOAWAY. Connect's client does not always report this by
        // the code.
        if (!passing.includes(code) && !rawMessage.includes("NGHTTP2_REFUSED_STREAM")) {
          this.faults.push(`${book}: ${Code[code]} ${rawMessage}`);
          return;
        }
        await sleep(this.#random.below(200));
      }
    }
  }

  #transport(baseUrl: string): Transport {
    const known = this.#transports.get(baseUrl);
    if (known !== undefined) return known;
    const transport = createGrpcTransport({ baseUrl });
    this.#transports.set(baseUrl, transport);
    return transport;
  }
}
