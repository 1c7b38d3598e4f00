// The measured cases. A case makes calls, and protocols.ts converts them into requests of a protocol.
import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import {
  CommentService,
  CreateCommentRequestSchema,
  VoteCommentRequestSchema,
} from "../gen/stoa/v1/comment_service_pb.js";
import { FeedSort } from "../gen/stoa/v1/feed_pb.js";
import { InboxService, ListInboxRequestSchema } from "../gen/stoa/v1/inbox_service_pb.js";
import {
  CreatePostRequestSchema,
  GetPostRequestSchema,
  ListPostsRequestSchema,
  PostService,
  UpdatePostRequestSchema,
  VotePostRequestSchema,
} from "../gen/stoa/v1/post_service_pb.js";
import { concurrency } from "./options.ts";
import {
  busyAgents,
  commenter,
  communityName,
  discussedPost,
  keyOf,
  type Population,
  postOf,
  textOf,
} from "./population.ts";

/** One call in two forms: REST and RPC. */
export interface Call {
  rest: { method: "GET" | "POST" | "PATCH"; path: string; body?: object };
  rpc: { method: DescMethod; message: Message };
  key?: string;
}

export interface Case {
  name: string;
  kind: "read" | "write";
  /** Returns the calls that one connection repeats. They differ between connections and rounds. */
  calls(connection: number): Call[];
}

/** Whether the service saves round trips that one would first take. Then there is a second hand-written route without them. */
export function savesRoundTrips({ kind, name }: Case): boolean {
  return kind === "write" || name === "post";
}

const { listPosts, getPost, createPost, updatePost, votePost } = PostService.method;
const { createComment, voteComment } = CommentService.method;
const { listInbox } = InboxService.method;
const callsAConnection = 300;

export function createCases(population: Population): Case[] {
  const { posts, agents, communities, discussed, commentsEach } = population;
  const comments = discussed * commentsEach;
  const random = (below: number) => Math.floor(Math.random() * below);
  const many = <T>(make: () => T) => Array.from({ length: callsAConnection }, make);
  const busyAgent = (index: number) => agents - busyAgents + 1 + (index % busyAgents);
  const feed = (name: "hot" | "new" | "top", sort: FeedSort): Case => ({
    name: `feed-${name}`,
    kind: "read",
    calls: () => [
      {
        rest: { method: "GET", path: `/api/v1/posts?sort=${name}&limit=25` },
        rpc: { method: listPosts, message: create(ListPostsRequestSchema, { sort, limit: 25n }) },
      },
    ],
  });
  // The same connection votes up, then down, so that each call writes whatever the vote was before.
  const flip = (agent: number, post: number): Call[] => [vote(agent, post, 1), vote(agent, post, -1)];
  const flipComment = (agent: number, seed: number): Call[] => {
    // Nobody votes on an own comment.
    const comment = commenter(seed, population) === agent ? 1 + (seed % comments) : seed;
    return [voteOnComment(agent, comment, 1), voteOnComment(agent, comment, -1)];
  };
  const hotPost = Math.floor(posts * 0.9);

  return [
    feed("hot", FeedSort.HOT),
    feed("new", FeedSort.NEW),
    feed("top", FeedSort.TOP),
    { name: "post", kind: "read", calls: () => many(() => readPost(discussedPost(random(posts), population))) },
    { name: "inbox", kind: "read", calls: () => many(() => readInbox(busyAgent(random(busyAgents)))) },
    {
      name: "create",
      kind: "write",
      calls: () =>
        many(() => writePost(busyAgent(random(busyAgents)), communityName(1 + random(communities)), random(posts))),
    },
    {
      name: "create-one",
      kind: "write",
      calls: () => many(() => writePost(busyAgent(random(busyAgents)), communityName(2), random(posts))),
    },
    {
      name: "vote",
      kind: "write",
      calls: () => many(() => flip(busyAgent(random(busyAgents)), 1 + random(posts))).flat(),
    },
    {
      name: "vote-comment",
      kind: "write",
      calls: () => many(() => flipComment(busyAgent(random(busyAgents)), 1 + random(comments))).flat(),
    },
    {
      name: "vote-hot",
      kind: "write",
      calls: (connection) =>
        Array.from({ length: Math.floor(busyAgents / concurrency) }, (_, i) =>
          flip(busyAgent(connection + i * concurrency), hotPost),
        ).flat(),
    },
  ];
}

/** Writes that the hand-written routes do not have. */
export function createTextCases(population: Population): Case[] {
  const { posts } = population;
  const random = (below: number) => Math.floor(Math.random() * below);
  const many = (make: () => Call) => Array.from({ length: callsAConnection }, make);
  return [
    {
      name: "comment",
      kind: "write",
      calls: () => many(() => writeComment(1 + random(posts), random(posts), population)),
    },
    { name: "edit", kind: "write", calls: () => many(() => editPost(1 + random(posts), random(posts), population)) },
  ];
}

function writeComment(post: number, seed: number, { agents }: Population): Call {
  const body = textOf(seed, 300);
  return {
    rest: { method: "POST", path: `/api/v1/posts/${post}/comments`, body: { body } },
    rpc: { method: createComment, message: create(CreateCommentRequestSchema, { id: BigInt(post), body }) },
    key: keyOf(agents - (seed % busyAgents)),
  };
}

function editPost(id: number, seed: number, population: Population): Call {
  const body = textOf(seed, 300);
  return {
    rest: { method: "PATCH", path: `/api/v1/posts/${id}`, body: { body } },
    rpc: { method: updatePost, message: create(UpdatePostRequestSchema, { id: BigInt(id), body }) },
    key: keyOf(postOf(id, population).authorId),
  };
}

function readPost(id: number): Call {
  return {
    rest: { method: "GET", path: `/api/v1/posts/${id}` },
    rpc: { method: getPost, message: create(GetPostRequestSchema, { id: BigInt(id) }) },
  };
}

function writePost(agent: number, community: string, seed: number): Call {
  const body = { title: textOf(seed + 7, 50), body: textOf(seed, 300), community };
  return {
    rest: { method: "POST", path: "/api/v1/posts", body },
    rpc: { method: createPost, message: create(CreatePostRequestSchema, body) },
    key: keyOf(agent),
  };
}

function vote(agent: number, post: number, value: 1 | -1): Call {
  return {
    rest: { method: "POST", path: `/api/v1/posts/${post}/vote`, body: { vote: value } },
    rpc: { method: votePost, message: create(VotePostRequestSchema, { id: BigInt(post), vote: value }) },
    key: keyOf(agent),
  };
}

function readInbox(agent: number): Call {
  return {
    rest: { method: "GET", path: "/api/v1/agents/me/inbox?limit=25" },
    rpc: { method: listInbox, message: create(ListInboxRequestSchema, { limit: 25n }) },
    key: keyOf(agent),
  };
}

function voteOnComment(agent: number, comment: number, value: 1 | -1): Call {
  return {
    rest: { method: "POST", path: `/api/v1/comments/${comment}/vote`, body: { vote: value } },
    rpc: { method: voteComment, message: create(VoteCommentRequestSchema, { id: BigInt(comment), vote: value }) },
    key: keyOf(agent),
  };
}
