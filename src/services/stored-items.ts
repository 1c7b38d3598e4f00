import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { CreateCommentResponseSchema } from "../../gen/stoa/v1/comment_service_pb.js";
import { CreatePostResponseSchema } from "../../gen/stoa/v1/post_service_pb.js";
import type { Comment, Post } from "../../gen/stoa/v1/resources_pb.js";
import type { Unit } from "../board/board.ts";
import { replaceStoredResponses } from "../idempotency/reply-item.ts";

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
  const isPost = resource.$typeName === "stoa.v1.Post";
  const bytes = isPost
    ? toBinary(CreatePostResponseSchema, { $typeName: "stoa.v1.CreatePostResponse", post: resource })
    : toBinary(CreateCommentResponseSchema, { $typeName: "stoa.v1.CreateCommentResponse", comment: resource });
  const about = { item: isPost ? ("post" as const) : ("comment" as const), itemId: Number(resource.id) };
  await replaceStoredResponses(unit, about, createdAt, (stored) => shows(stored, resource), Buffer.from(bytes));
}

function shows(stored: Buffer, resource: Post | Comment): boolean {
  try {
    if (resource.$typeName === "stoa.v1.Post") {
      const { post } = fromBinary(CreatePostResponseSchema, stored);
      return post?.id === resource.id && post.apiUrl !== "";
    }
    const { comment } = fromBinary(CreateCommentResponseSchema, stored);
    return comment?.id === resource.id && comment.postId === resource.postId;
  } catch {
    // These bytes are another message.
    return false;
  }
}
