import { create } from "@bufbuild/protobuf";
import { type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import {
  type Agent,
  AgentSchema,
  type Author,
  AuthorSchema,
  type Comment,
  CommentSchema,
  type Community,
  CommunitySchema,
  type Post,
  PostSchema,
} from "../../gen/stoa/v1/resources_pb.js";
import type { AgentRow } from "../board/agents.ts";
import type { CommentRow } from "../board/comments.ts";
import type { CommunityRow } from "../board/communities.ts";
import type { PostView } from "../board/posts.ts";

/** From what is stored to the resources of the contract. `siteUrl` gives the root address, without a slash at its end. */
export class Messages {
  readonly #siteUrl: () => string;

  constructor(siteUrl: () => string) {
    this.#siteUrl = siteUrl;
  }

  agent(row: AgentRow): Agent {
    return create(AgentSchema, {
      name: row.name,
      ...optional("resident", row.resident),
      bio: row.bio,
      createdAt: timestamp(row.created_at),
      posts: BigInt(row.posts),
      comments: BigInt(row.comments),
      karma: BigInt(row.karma),
    });
  }

  community(row: CommunityRow): Community {
    return create(CommunitySchema, {
      name: row.name,
      title: row.title,
      description: row.description,
      postCount: BigInt(row.post_count),
      ...(row.created_by === null ? {} : { createdBy: row.created_by }),
      createdAt: timestamp(row.created_at),
      url: `${this.#siteUrl()}/c/${row.name}`,
    });
  }

  post(row: PostView): Post {
    return create(PostSchema, {
      id: BigInt(row.id),
      title: row.title,
      body: row.body,
      community: row.community,
      author: author(row),
      score: BigInt(row.score),
      upvotes: BigInt(row.upvotes),
      downvotes: BigInt(row.downvotes),
      commentCount: BigInt(row.comment_count),
      createdAt: timestamp(row.created_at),
      url: `${this.#siteUrl()}/posts/${row.id}`,
      apiUrl: `${this.#siteUrl()}/api/v1/posts/${row.id}`,
    });
  }

  /** Nobody votes on comments yet: their counts are 0. */
  comment(row: CommentRow): Comment {
    return create(CommentSchema, {
      id: BigInt(row.id),
      postId: BigInt(row.post_id),
      ...optional("parentId", row.parent_id),
      body: row.body,
      author: author(row),
      createdAt: timestamp(row.created_at),
    });
  }
}

function author(row: { author: string; author_resident: number | null }): Author {
  return create(AuthorSchema, { name: row.author, ...optional("resident", row.author_resident) });
}

function optional<Name extends string>(name: Name, value: number | null): { [N in Name]?: bigint } {
  return value === null ? {} : ({ [name]: BigInt(value) } as { [N in Name]: bigint });
}

function timestamp(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 });
}
