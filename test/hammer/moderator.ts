import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import type { Acknowledged, HammerPost } from "./acknowledged.ts";
import type { Random } from "./random.ts";

const acts = ["remove", "restore", "lock", "unlock"] as const;
type Act = (typeof acts)[number];

/** An operator that removes, restores, locks and unlocks posts by gRPC. It repeats each call until it is acknowledged. */
export class Moderator {
  readonly faults: string[] = [];
  readonly #index: number;
  readonly #count: number;
  readonly #urls: () => string[];
  readonly #random: Random;
  readonly #done: Acknowledged;
  readonly #token: string;
  readonly #transports = new Map<string, Transport>();

  /** Of `count` moderators each acts on its own posts, so that it knows how they stand. */
  constructor(index: number, count: number, urls: () => string[], random: Random, done: Acknowledged, token: string) {
    this.#index = index;
    this.#count = count;
    this.#urls = urls;
    this.#random = random;
    this.#done = done;
    this.#token = token;
  }

  async run(stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      await sleep(this.#random.below(60));
      const own = this.#done.posts.filter(({ id }) => id % this.#count === this.#index);
      const { length } = own;
      if (length === 0) continue;
      // Mostly new ones, which the agents use.
      const post =
        own[
          this.#random.chance(0.6) ? length - 1 - this.#random.below(Math.min(5, length)) : this.#random.below(length)
        ];
      await this.#act(post as HammerPost, this.#random.pick(acts));
    }
  }

  async #act(post: HammerPost, act: Act): Promise<void> {
    const isMove = act === "remove" || act === "restore";
    post.touched = true;
    if (isMove) post.moved = true;
    const outcome = await this.#call(act, post.id);
    const isGone = post.removed || post.deleted;
    if (outcome === "not_found") {
      const mayBe = isMove ? act === "restore" && post.deleted : isGone;
      if (!mayBe) this.faults.push(`${act} of post ${post.id}: not_found`);
      return;
    }
    if (isMove) {
      const removed = act === "remove";
      if (removed !== post.removed) post.acts++;
      post.removed = removed;
    } else {
      const locked = act === "lock";
      if (locked !== post.locked) post.acts++;
      post.locked = locked;
    }
  }

  async #call(act: Act, id: number): Promise<"ok" | "not_found"> {
    const headers = { authorization: `Bearer ${this.#token}` };
    const postId = BigInt(id);
    for (;;) {
      const timeoutMs = this.#random.chance(0.2) ? 1 + this.#random.below(30) : 10_000;
      const options = { headers, timeoutMs };
      try {
        const client = createClient(ModerationService, this.#transport(this.#random.pick(this.#urls())));
        if (act === "remove") await client.remove({ postId, reason: ModerationReason.SPAM, keepForDays: 30n }, options);
        else await client[act]({ postId }, options);
        return "ok";
      } catch (error) {
        const { code, rawMessage } = ConnectError.from(error);
        if (code === Code.NotFound) return "not_found";
        const passing = [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Aborted];
        if (!passing.includes(code) && !rawMessage.includes("NGHTTP2_REFUSED_STREAM")) {
          this.faults.push(`${act} of post ${id}: ${Code[code]} ${rawMessage}`);
          return "ok";
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
