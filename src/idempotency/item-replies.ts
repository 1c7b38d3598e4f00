import type { Message } from "@bufbuild/protobuf";
import type { Comment, Post } from "../../gen/stoa/v1/resources_pb.js";
import type { Queryable } from "../board/board.ts";
import type { ReplyItem } from "../store/tables/idempotency-replies.ts";

/*
 * A reply that shows a post or comment is stored without the text and the author. So it is small, and the removal of the post
 * or comment need not touch it. A repeat sends the same text again, or it would be a different call; the rest is read from the
 * row. For an hour after the upgrade from a version that cannot read this, replies are stored whole.
 */

/** Reads posts and comments as everybody sees them now. */
export interface Items {
  post(db: Queryable, id: number): Promise<Post>;
  comment(db: Queryable, id: number): Promise<Comment>;
}

type ItemReply = Message & { post?: Post; comment?: Comment };

/** The post or comment that a reply shows. */
export function itemOf(reply: Message): ReplyItem | undefined {
  const { post, comment } = reply as ItemReply;
  if (post?.$typeName === "stoa.v1.Post") return { item: "post", itemId: Number(post.id) };
  if (comment?.$typeName === "stoa.v1.Comment") return { item: "comment", itemId: Number(comment.id) };
  return undefined;
}

/** The reply as it is stored. What shows a removal holds no text, and stays as it is. */
export function toOutline<Reply extends Message>(reply: Reply): Reply {
  const { post, comment } = reply as ItemReply;
  if (post !== undefined && post.removed === undefined) {
    const { author: _, ...rest } = post;
    return { ...reply, post: { ...rest, title: "", body: "" } };
  }
  if (comment !== undefined && comment.removed === undefined) {
    const { author: _, ...rest } = comment;
    return { ...reply, comment: { ...rest, body: "" } };
  }
  return reply;
}

/**
 * Adds to a stored reply the text and the author that it was stored without. A post or comment that is removed now is shown
 * as everybody sees it, whatever is stored.
 * @param request the repeated call
 */
export async function fillOutline(db: Queryable, stored: Message, request: Message, items: Items): Promise<void> {
  const reply = stored as ItemReply;
  const { title, body } = request as { title?: string; body?: string };
  if (reply.post !== undefined) {
    const now = await items.post(db, Number(reply.post.id));
    if (now.removed !== undefined) reply.post = now;
    else if (isOutline(reply.post)) {
      Object.assign(reply.post, { author: now.author, title: title ?? now.title, body: body ?? now.body });
    }
  }
  if (reply.comment !== undefined) {
    const now = await items.comment(db, Number(reply.comment.id));
    if (now.removed !== undefined) reply.comment = now;
    else if (isOutline(reply.comment)) Object.assign(reply.comment, { author: now.author, body: body ?? now.body });
  }
}

function isOutline({ author, removed }: Post | Comment): boolean {
  return author === undefined && removed === undefined;
}
