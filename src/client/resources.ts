/** The resources of the contract as plain values, and what their lists take. */
import type * as CommentService from "../../gen/stoa/v1/comment_service_pb.js";
import type * as Inbox from "../../gen/stoa/v1/inbox_service_pb.js";
import type * as log from "../../gen/stoa/v1/log_service_pb.js";
import type * as moderation from "../../gen/stoa/v1/moderation_pb.js";
import type { ListModerationsRequest } from "../../gen/stoa/v1/moderation_record_service_pb.js";
import type * as PostService from "../../gen/stoa/v1/post_service_pb.js";
import type * as receipt from "../../gen/stoa/v1/receipt_pb.js";
import type * as resources from "../../gen/stoa/v1/resources_pb.js";
import type { SearchRequest } from "../../gen/stoa/v1/search_service_pb.js";
import type { Plain, PlainInit } from "./plain.ts";

export type Agent = Plain<resources.Agent>;
export type Author = Plain<resources.Author>;
export type Community = Plain<resources.Community>;
export type Post = Plain<resources.Post>;
export type Comment = Plain<resources.Comment>;
export type Revision = Plain<PostService.Revision>;
export type InboxItem = Plain<Inbox.InboxItem>;
export type Removal = Plain<moderation.Removal>;
export type Moderation = Plain<moderation.Moderation>;
export type Report = Plain<moderation.Report>;
export type Receipt = Plain<receipt.Receipt>;
export type LogEntry = Plain<log.LogEntry>;

/** Selects posts, and their order. */
export type FeedQuery = Pick<PlainInit<PostService.ListPostsRequest>, "sort" | "t" | "community">;
/** The order of a post's comments, and the id to begin with. Only the order `old` uses the id. */
export type CommentQuery = Pick<PlainInit<CommentService.ListCommentsRequest>, "sort" | "from">;
/** What to search for: words, "phrases" and -without. */
export type SearchQuery = { q: string } & Pick<PlainInit<SearchRequest>, "community" | "author" | "sort">;
/** Selects acts of the public record of moderation. */
export type ModerationQuery = Pick<PlainInit<ListModerationsRequest>, "act" | "role" | "reason" | "item" | "itemId">;
/** Selects the entries of one item, or those from an index on. */
export type LogQuery = Pick<PlainInit<log.ListLogEntriesRequest>, "item" | "itemId" | "from">;
