import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import type { HammerPost } from "./acknowledged.ts";
import { OperatorCaller } from "./operator-caller.ts";
import type { World } from "./world.ts";

const acts = ["remove", "restore", "lock", "unlock"] as const;
type Act = (typeof acts)[number];

/** An operator that removes, restores, locks and unlocks posts by gRPC. */
export class Moderator {
  readonly #index: number;
  readonly #count: number;
  readonly #world: World;
  readonly #caller: OperatorCaller;

  /** Of `count` moderators each acts on its own posts, so that it knows how they stand. */
  constructor(index: number, count: number, world: World, token: string) {
    this.#index = index;
    this.#count = count;
    this.#world = world;
    this.#caller = new OperatorCaller(world, token);
  }

  async run(stopped: () => boolean): Promise<void> {
    const { random, done } = this.#world;
    while (!stopped()) {
      await sleep(random.below(60));
      const own = done.posts.filter(({ id }) => id % this.#count === this.#index);
      if (own.length === 0) continue;
      // Mostly new ones, which the agents use.
      const post = random.pick(random.chance(0.6) ? own.slice(-5) : own);
      await this.#act(post, random.pick(acts));
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
      if (!mayBe) this.#world.done.faults.push(`${act} of post ${post.id}: not_found`);
      return;
    }
    const state = isMove ? "removed" : "locked";
    const now = act === "remove" || act === "lock";
    if (now !== post[state]) post.acts++;
    post[state] = now;
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
      this.#world.done.faults.push(`${act} of post ${id}: ${error}`);
    }
    return "ok";
  }
}
