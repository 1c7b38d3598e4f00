import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "./random.ts";
import { type Answer, type Call, type Cut, send, type WireReply } from "./wire.ts";
import type { World } from "./world.ts";

/** What was seen on the wire, for the report. */
interface Tally {
  /** Replies by status. */
  statuses: Record<number, number>;
  /** Requests that got no reply. */
  lost: number;
  replays: number;
  /** Descriptions of everything that must never happen. */
  faults: string[];
}

export function newTally(): Tally {
  return { statuses: {}, lost: 0, replays: 0, faults: [] };
}

/**
 * An agent's HTTP client that behaves as badly as possible. It cuts connections at random moments, sends requests to two
 * replicas at the same time, and repeats every request until it has a definite reply.
 */
export class Caller {
  readonly #urls: World["urls"];
  readonly #random: Random;
  readonly #tally: Tally;
  readonly #connections = new Agent({ keepAlive: true });
  readonly #mixesVersions: boolean;

  /** @param mixesVersions whether replies of two versions may differ in the words of errors, and in members that the later one adds */
  constructor({ urls, random }: World, tally: Tally, mixesVersions = false) {
    this.#urls = urls;
    this.#random = random;
    this.#tally = tally;
    this.#mixesVersions = mixesVersions;
  }

  /** Whether two replies say the same. */
  areSame(one: string, other: string): boolean {
    if (one === other || !this.#mixesVersions) return one === other;
    const [a, b] = [JSON.parse(one), JSON.parse(other)];
    if (a.ok === false) return a.error === b.error && a.field === b.field;
    return JSON.stringify(inCommon(a, b)) === JSON.stringify(inCommon(b, a));
  }

  /** @param mode `plain` cuts no connections and sends nothing twice */
  async call(call: Call, mode: "hostile" | "plain" = "hostile"): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const twins = mode === "hostile" && call.idempotencyKey !== undefined && this.#random.chance(0.15) ? 2 : 1;
      const cut = () => (mode === "hostile" ? this.#cut() : undefined);
      const replies = await Promise.all(Array.from({ length: twins }, () => this.#send(call, cut())));
      const definite = replies.filter((reply) => reply !== undefined);
      for (const reply of definite) {
        // Failures are not stored: between two of them, what was removed first may lose the post that it stands on.
        const isSame =
          this.areSame(reply.text, definite[0]?.text ?? "") || call.changing === true || reply.status === 404;
        if (!isSame || reply.status !== definite[0]?.status) {
          this.#fault(call, `two replies to one request: ${definite[0]?.text} and ${reply.text}`);
        }
      }
      const [reply] = definite;
      if (reply !== undefined) return { status: reply.status, body: JSON.parse(reply.text) };
      await sleep(this.#random.below(20 * Math.min(attempt, 25)));
    }
  }

  close(): void {
    this.#connections.destroy();
  }

  /** @returns undefined if the request must be sent again */
  async #send(call: Call, cut: Cut): Promise<WireReply | undefined> {
    const reply = await send(this.#connections, this.#random.pick(this.#urls()), call, cut);
    if (reply === undefined) {
      this.#tally.lost++;
      return undefined;
    }
    const { status, text } = reply;
    this.#tally.statuses[status] = (this.#tally.statuses[status] ?? 0) + 1;
    if (reply.replayed) this.#tally.replays++;
    if (status >= 500 && status !== 503) this.#fault(call, `${status}: ${text}`);
    if (status === 503 || status === 429) {
      if (JSON.parse(text).ok !== false) this.#fault(call, `${status} without the Error shape: ${text}`);
      return undefined;
    }
    return reply;
  }

  #cut(): Cut {
    if (this.#random.chance(0.8)) return undefined;
    if (this.#random.chance(0.15)) return "amid-body";
    return { afterMs: this.#random.below(30) };
  }

  #fault({ method, path }: Call, what: string): void {
    this.#tally.faults.push(`${method} ${path}: ${what}`);
  }
}

/** What `one` says, without the members that `other` lacks. */
function inCommon(one: unknown, other: unknown): unknown {
  if (!isObject(one) || !isObject(other)) return one;
  const names = Object.keys(one).filter((name) => name in other);
  return names.map((name) => [name, inCommon(one[name], other[name])]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
