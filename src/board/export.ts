import { listCommentsByAuthor } from "../store/tables/comment-lists.ts";
import type { CommentRow } from "../store/tables/comments.ts";
import { type CommunityRow, listCommunitiesBy } from "../store/tables/communities.ts";
import { type InboxItemRow, listItemsFrom } from "../store/tables/inbox-items.ts";
import { listPostsByAuthor, type PostRow } from "../store/tables/posts.ts";
import { listRemovedCommentsBy } from "../store/tables/removed-comments.ts";
import { listRemovedPostsBy, type RemovedPostRow } from "../store/tables/removed-posts.ts";
import { listReportsBy, type ReportRow } from "../store/tables/reports.ts";
import { listSubscriptions, type SubscriptionRow } from "../store/tables/subscriptions.ts";
import type { TimePosition } from "../store/tables/time-order.ts";
import { listVotesBy, type VotedKind, type VoteRow } from "../store/tables/votes.ts";
import type { Queryable } from "./board.ts";
import type { PostView } from "./posts.ts";

/** How many rows are read at once: few, because a client may stop reading. A post has 40 KB at most. */
const portion = 10;
/** The same of votes, which are small. */
const votesAtOnce = 200;

/** Something that an agent has written, made or got. */
export type Exported =
  | { type: "community"; row: CommunityRow }
  | { type: "post"; row: PostView }
  | { type: "comment"; row: CommentRow }
  | { type: "vote"; row: VoteRow & { kind: VotedKind } }
  | { type: "report"; row: ReportRow }
  | { type: "subscription"; row: SubscriptionRow }
  | { type: "inbox_item"; row: InboxItemRow };

/**
 * Everything of an agent, page by page, each from an index. Words are read newest first, then those that are removed. It is no
 * snapshot: what is written meanwhile may be missing, and what is removed meanwhile may come twice.
 */
export async function* exportAgent(db: Queryable, agentId: number): AsyncGenerator<Exported, void> {
  const inbox = { to: Number.MAX_SAFE_INTEGER, limit: portion };
  yield* pages<"community", CommunityRow & Id>("community", (last) =>
    listCommunitiesBy(db, agentId, portion, last?.id),
  );
  yield* pages<"post", PostRow>("post", (last) => listPostsByAuthor(db, agentId, portion, positionOf(last)));
  yield* pages<"post", RemovedPostRow>("post", (last) => listRemovedPostsBy(db, agentId, last?.id ?? 0, portion));
  yield* pages<"comment", CommentRow>("comment", (last) =>
    listCommentsByAuthor(db, agentId, positionOf(last), portion),
  );
  yield* pages<"comment", CommentRow>("comment", (last) => listRemovedCommentsBy(db, agentId, last?.id ?? 0, portion));
  for (const kind of ["post", "comment"] as const) {
    const votes = pages<"vote", VoteRow>(
      "vote",
      (last) => listVotesBy(db, kind, agentId, last?.id ?? 0, votesAtOnce),
      votesAtOnce,
    );
    for await (const { type, row } of votes) yield { type, row: { ...row, kind } };
  }
  yield* pages<"report", ReportRow>("report", (last) => listReportsBy(db, agentId, last?.id ?? 0, portion));
  for (const row of await listSubscriptions(db, agentId)) yield { type: "subscription", row };
  yield* pages<"inbox_item", InboxItemRow>("inbox_item", (last) =>
    listItemsFrom(db, agentId, { ...inbox, from: (last?.id ?? 0) + 1 }),
  );
}

interface Id {
  id: number;
}

function positionOf(row: (Id & { created_at: number }) | undefined): TimePosition | undefined {
  return row && { createdAt: row.created_at, id: row.id };
}

/**
 * All rows of a list, each with its type.
 * @param read the page after a row; of the first page, after undefined
 * @param size how many rows a full page has
 */
async function* pages<Type extends Exported["type"], Row>(
  type: Type,
  read: (last: Row | undefined) => Promise<Row[]>,
  size = portion,
): AsyncGenerator<{ type: Type; row: Row }, void> {
  let last: Row | undefined;
  for (let isFull = true; isFull; ) {
    const rows: Row[] = await read(last);
    for (const row of rows) yield { type, row };
    last = rows.at(-1);
    isFull = rows.length === size;
  }
}
