import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { type CreateCommentResponse, CreateCommentResponseSchema } from "../../gen/stoa/v1/comment_service_pb.js";
import { type CreatePostResponse, CreatePostResponseSchema } from "../../gen/stoa/v1/post_service_pb.js";
import type { Comment, Post } from "../../gen/stoa/v1/resources_pb.js";
import type { Unit } from "../board/board.ts";
import { lockRepliesAbout, putReply, type ReplyItem } from "../store/tables/idempotency-replies.ts";

/*
 * A stored response holds the text of the post or comment that its call made. When that is removed or restored, the stored
 * responses follow in the same transaction: they then show what everybody sees.
 *
 * Every response with a post has it in field 1 and nothing else, and so has every response with a comment. So their bytes
 * are those of the create's response, and the method of a stored response need not be known. A test checks the contract.
 */

/**
 * Makes the stored responses that show a post or comment show it as it is now.
 * @param createdAt when it was created, in milliseconds since 1970 (UTC)
 */
export async function replaceStored(unit: Unit, resource: Post | Comment, createdAt: number): Promise<void> {
  const { tx } = unit;
  const about: ReplyItem = {
    item: resource.$typeName === "stoa.v1.Post" ? "post" : "comment",
    itemId: Number(resource.id),
  };
  for (const row of await lockRepliesAbout(tx, about, createdAt)) {
    if (!shows(row.reply, resource)) continue;
    const { id, fingerprint, created_at } = row;
    await putReply(
      tx,
      { id, fingerprint, sealed: false, createdAt: created_at },
      Buffer.from(bytesOf(resource)),
      about,
    );
  }
}

function bytesOf(resource: Post | Comment): Uint8Array {
  return resource.$typeName === "stoa.v1.Post"
    ? toBinary(CreatePostResponseSchema, { $typeName: "stoa.v1.CreatePostResponse", post: resource })
    : toBinary(CreateCommentResponseSchema, { $typeName: "stoa.v1.CreateCommentResponse", comment: resource });
}

/**
 * Whether a stored response shows this post or comment. An older version that takes over a row leaves what the row said
 * about the response before.
 */
function shows(reply: Buffer, resource: Post | Comment): boolean {
  try {
    if (resource.$typeName === "stoa.v1.Post") {
      const { post }: CreatePostResponse = fromBinary(CreatePostResponseSchema, reply);
      return post?.id === resource.id && post.apiUrl !== "";
    }
    const { comment }: CreateCommentResponse = fromBinary(CreateCommentResponseSchema, reply);
    return comment?.id === resource.id && comment.postId === resource.postId;
  } catch {
    // These bytes are another message.
    return false;
  }
}
