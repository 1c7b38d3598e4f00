import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import type { HammerPost } from "./acknowledged.ts";
import { operatorCaller } from "./operator-caller.ts";
import type { World } from "./world.ts";

const acts = ["remove", "restore", "lock", "unlock"] as const;
type Act = (typeof acts)[number];

/**
 * Removes, restores, locks and unlocks posts by gRPC.
 * @param isOwn which posts are those of this moderator alone, so that it knows how they stand
 */
export async function moderate(
  isOwn: (post: HammerPost) => boolean,
  world: World,
  operatorToken: string,
  stopped: () => boolean,
): Promise<void> {
  const { random, done } = world;
  const call = operatorCaller(world, operatorToken);
  while (!stopped()) {
    await sleep(random.below(60));
    const own = done.posts.filter(isOwn);
    if (own.length === 0) continue;
    // Mostly new ones, which the agents use.
    await act(random.pick(random.chance(0.6) ? own.slice(-5) : own), random.pick(acts));
  }

  async function act(post: HammerPost, what: Act): Promise<void> {
    const isMove = what === "remove" || what === "restore";
    const postId = BigInt(post.id);
    post.touched = true;
    if (isMove) post.moved = true;
    try {
      await call(ModerationService, async (client, options) => {
        if (what === "remove")
          await client.remove({ postId, reason: ModerationReason.SPAM, keepForDays: 30n }, options);
        else await client[what]({ postId }, options);
      });
    } catch (error) {
      const isMissing = ConnectError.from(error).code === Code.NotFound;
      const mayBeMissing = isMove ? what === "restore" && post.deleted : post.removed || post.deleted;
      if (!isMissing || !mayBeMissing) done.faults.push(`${what} of post ${post.id}: ${error}`);
      return;
    }
    const state = isMove ? "removed" : "locked";
    const now = what === "remove" || what === "lock";
    if (now !== post[state]) post.acts++;
    post[state] = now;
  }
}
