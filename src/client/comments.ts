import type { MessageInitShape } from "@bufbuild/protobuf";
import { CommentSort, type ListCommentsRequestSchema } from "../../gen/stoa/v1/comment_service_pb.js";
import { type NameOf, valueNamed } from "./enum-names.ts";

/** The order of a post's comments. */
export interface CommentQuery {
  /** Default: old. */
  sort?: NameOf<typeof CommentSort> | undefined;
  /** Begin with the comment of this id, or with the first one after it. Other orders than old ignore it. */
  from?: bigint | undefined;
}

/** The first request of the comments of a post. @throws TypeError for an unknown name */
export function commentsRequest(
  id: bigint,
  { sort, from }: CommentQuery,
): MessageInitShape<typeof ListCommentsRequestSchema> {
  return {
    id,
    ...(sort === undefined ? {} : { sort: valueNamed<CommentSort>(CommentSort, sort, "comments") }),
    ...(from === undefined ? {} : { from }),
  };
}
