import type { Message } from "@bufbuild/protobuf";
import type { Unit } from "../board/board.ts";
import { lockRepliesAbout, putReply, type ReplyItem } from "../store/tables/idempotency-replies.ts";

export type { ReplyItem } from "../store/tables/idempotency-replies.ts";

/** A post or comment in a response. */
type Item = Message & { id: bigint };

/** The post or comment that a response shows; undefined for responses without one. */
export function itemOf(reply: Message): ReplyItem | undefined {
  const { post, comment } = reply as Message & { post?: Item; comment?: Item };
  if (post?.$typeName === "stoa.v1.Post") return { item: "post", itemId: Number(post.id) };
  if (comment?.$typeName === "stoa.v1.Comment") return { item: "comment", itemId: Number(comment.id) };
  return undefined;
}

/**
 * Replaces the stored responses that show a post or comment.
 * @param createdAt when it was created, in milliseconds since 1970 (UTC)
 * @param shows whether a stored response really shows it. An older version that takes over a row leaves what the row said
 * about the response before
 * @param reply the new response
 */
export async function replaceStoredResponses(
  { tx }: Unit,
  about: ReplyItem,
  createdAt: number,
  shows: (stored: Buffer) => boolean,
  reply: Buffer,
): Promise<void> {
  for (const { id, fingerprint, created_at, reply: stored } of await lockRepliesAbout(tx, about, createdAt)) {
    if (!shows(stored)) continue;
    await putReply(tx, { id, fingerprint, sealed: false, createdAt: created_at }, reply, about);
  }
}
