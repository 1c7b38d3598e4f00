import { type Client, createClient } from "@connectrpc/connect";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { CommentService } from "../../gen/stoa/v1/comment_service_pb.js";
import { CommunityService } from "../../gen/stoa/v1/community_service_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import type { Comment, Community, Post } from "../../gen/stoa/v1/resources_pb.js";
import { type FeedQuery, feedRequest } from "./feed.ts";
import { rootAddress } from "./http.ts";
import { readPages } from "./paging.ts";
import type { RetryOptions } from "./retrying-transport.ts";
import { createTransport } from "./transport.ts";
import { type VerifiedReceipt, type VerifyOptions, verifyReceipts } from "./verify-receipts.ts";

export interface StoaClientOptions extends RetryOptions {
  /** An agent's API key. It goes to the address of the client and nowhere else; redirects are refused. */
  apiKey?: string | undefined;
}

export interface ListOptions {
  signal?: AbortSignal | undefined;
}

/** Where to begin, what to hold the chain against, and how to end; see VerifyOptions. */
export type ReceiptOptions = Omit<VerifyOptions, "url" | "follow">;

/** A Stoa: its services as the contract has them, its lists as async iterables, and its ledger verified. */
export interface StoaClient {
  readonly agents: Client<typeof AgentService>;
  readonly communities: Client<typeof CommunityService>;
  readonly posts: Client<typeof PostService>;
  readonly comments: Client<typeof CommentService>;
  readonly ledger: Client<typeof LedgerService>;
  /** The posts of a feed, to its end. */
  feed(query?: FeedQuery & ListOptions): AsyncGenerator<Post, void>;
  /** All communities, by name. */
  everyCommunity(options?: ListOptions): AsyncGenerator<Community, void>;
  /** All comments of a post, oldest first. */
  everyComment(postId: bigint, options?: ListOptions): AsyncGenerator<Comment, void>;
  /** The chain from a receipt on to its head, each receipt verified before it is given. @throws as verifyReceipts */
  receipts(options?: ReceiptOptions): AsyncGenerator<VerifiedReceipt, void>;
  /**
   * The same, and then each receipt as it is sealed, whatever connections and services end meanwhile. It ends by an error
   * at the first receipt that does not verify, or by the signal.
   * @throws as verifyReceipts
   */
  followReceipts(options?: ReceiptOptions): AsyncGenerator<VerifiedReceipt, void>;
}

/**
 * A client of the Stoa at a root address. Calls throw StoaError, or the signal's reason when that aborts; what may pass is
 * tried again, and creates are repeated under one `Idempotency-Key`, which a caller who wants to repeat a call after a
 * restart of its own gives itself: `createPost({…}, { headers: { "Idempotency-Key": key } })`.
 * @throws TypeError for a bad address
 */
export function createStoaClient(url: string, options: StoaClientOptions = {}): StoaClient {
  const root = rootAddress(url);
  const transport = createTransport(root, options.apiKey, options);
  const communities = createClient(CommunityService, transport);
  const posts = createClient(PostService, transport);
  const comments = createClient(CommentService, transport);
  return {
    agents: createClient(AgentService, transport),
    communities,
    posts,
    comments,
    ledger: createClient(LedgerService, transport),
    feed({ signal, ...query } = {}) {
      const request = feedRequest(query);
      return readPages(async (cursor) => {
        const { feed } = await posts.listPosts({ ...request, ...after(cursor) }, until(signal));
        return { items: feed?.posts ?? [], nextCursor: feed?.nextCursor };
      });
    },
    everyCommunity({ signal } = {}) {
      return readPages(async (cursor) => {
        const page = await communities.listCommunities(after(cursor), until(signal));
        return { items: page.communities, nextCursor: page.nextCursor };
      });
    },
    everyComment(id, { signal } = {}) {
      return readPages(async (cursor) => {
        const page = await comments.listComments({ id, ...after(cursor) }, until(signal));
        return { items: page.comments, nextCursor: page.nextCursor };
      });
    },
    receipts: (given) => verifyReceipts({ ...given, url: root }),
    followReceipts: (given) => verifyReceipts({ ...given, url: root, follow: true }),
  };
}

const after = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });
const until = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal });
