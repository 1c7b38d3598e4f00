import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import type { Acknowledged, HammerPost } from "./acknowledged.ts";
import { OperatorCaller } from "./operator-caller.ts";
import type { Random } from "./random.ts";

const acts = ["remove", "restore", "lock", "unlock"] as const;
type Act = (typeof acts)[number];

/** An operator that removes, restores, locks and unlocks posts by gRPC. */
export class Moderator {
  readonly #index: number;
  readonly #count: number;
  readonly #random: Random;
  readonly #done: Acknowledged;
  readonly #caller: OperatorCaller;

  /** Of `count` moderators each acts on its own posts, so that it knows how they stand. */
  constructor(index: number, count: number, urls: () => string[], random: Random, done: Acknowledged, token: string) {
    this.#index = index;
    this.#count = count;
    this.#random = random;
    this.#done = done;
    this.#caller = new OperatorCaller(urls, random, token);
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
      if (!mayBe) this.#done.faults.push(`${act} of post ${post.id}: not_found`);
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
    const postId = BigInt(id);
    try {
      await this.#caller.call(ModerationService, async (client, options) => {
        if (act === "remove") await client.remove({ postId, reason: ModerationReason.SPAM, keepForDays: 30n }, options);
        else await client[act]({ postId }, options);
      });
    } catch (error) {
      if (ConnectError.from(error).code === Code.NotFound) return "not_found";
      this.#done.faults.push(`${act} of post ${id}: ${error}`);
    }
    return "ok";
  }
}
