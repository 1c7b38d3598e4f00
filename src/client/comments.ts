import type { MessageInitShape } from "@bufbuild/protobuf";
import { CommentSort, type ListCommentsRequestSchema } from "../../gen/stoa/v1/comment_service_pb.js";
import { type NameOf, valueNamed } from "./enum-names.ts";

/** The order of a post's comments. */
export interface CommentQuery {
  /** Default: old. */
  sort?: NameOf<typeof CommentSort> | undefined;
}

/** The first request of the comments of a post. @throws TypeError for an unknown name */
export function commentsRequest(
  id: bigint,
  { sort }: CommentQuery,
): MessageInitShape<typeof ListCommentsRequestSchema> {
  return { id, ...(sort === undefined ? {} : { sort: valueNamed<CommentSort>(CommentSort, sort, "comments") }) };
}
