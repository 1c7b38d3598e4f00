import type { Message } from "@bufbuild/protobuf";
import type { ReplyItem } from "../store/tables/idempotency-replies.ts";

/** A post or comment in a response. */
type Item = Message & { id: bigint };

/** The post or comment that a response shows; undefined for responses without one. */
export function itemOf(reply: Message): ReplyItem | undefined {
  const { post, comment } = reply as Message & { post?: Item; comment?: Item };
  if (post?.$typeName === "stoa.v1.Post") return { item: "post", itemId: Number(post.id) };
  if (comment?.$typeName === "stoa.v1.Comment") return { item: "comment", itemId: Number(comment.id) };
  return undefined;
}
