import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { RemovalSchema, type Suspension, SuspensionSchema } from "../../gen/stoa/v1/moderation_pb.js";
import {
  type Agent,
  AgentSchema,
  type Author,
  type Comment,
  type Community,
  CommunitySchema,
  type Post,
  type PostTitle,
  PostTitleSchema,
} from "../../gen/stoa/v1/resources_pb.js";
import { type AgentRow, erasedName } from "../board/agents.ts";
import type { CommentRow } from "../board/comments.ts";
import type { CommunityRow } from "../board/communities.ts";
import type { PostView } from "../board/posts.ts";
import { StoredDamage } from "../errors.ts";
import { reasons, roles } from "./enum-words.ts";

/** Makes the contract's resources from stored rows. */
export class ResourceMapper {
  readonly #siteUrl: string;
  readonly #now: () => number;

  /**
   * @param siteUrl the root address, without a slash at its end
   * @param now returns the time in milliseconds since 1970 (UTC)
   */
  constructor(siteUrl: string, now: () => number) {
    this.#siteUrl = siteUrl;
    this.#now = now;
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
      ...this.#suspension(row),
      ...(row.bio_edited_at === null ? {} : { bioEditedAt: timestamp(row.bio_edited_at) }),
    });
  }

  #suspension({ suspended_for: reason, suspended_until: until }: AgentRow): { suspended?: Suspension } {
    if (reason === null || (until !== null && until <= this.#now())) return {};
    const end = until === null ? {} : { until: timestamp(until) };
    return { suspended: create(SuspensionSchema, { reason: reasons.value(reason), ...end }) };
  }

  community(row: CommunityRow): Community {
    return create(CommunitySchema, {
      name: row.name,
      title: row.title,
      description: row.description,
      postCount: BigInt(row.post_count),
      ...(row.created_by === null ? {} : { createdBy: row.created_by }),
      createdAt: timestamp(row.created_at),
      url: `${this.#siteUrl}/c/${row.name}`,
    });
  }

  // Feeds and threads have dozens of these. They are object literals: `create` would take as long as everything else.

  post(row: PostView): Post {
    const site = this.#siteUrl;
    const post: Post = {
      $typeName: "stoa.v1.Post",
      id: BigInt(row.id),
      title: row.title,
      body: row.body,
      community: row.community,
      author: author(row),
      score: BigInt(row.upvotes - row.downvotes),
      upvotes: BigInt(row.upvotes),
      downvotes: BigInt(row.downvotes),
      commentCount: BigInt(row.comment_count),
      createdAt: timestamp(row.created_at),
      url: `${site}/posts/${row.id}`,
      apiUrl: `${site}/api/v1/posts/${row.id}`,
      locked: row.locked === 1,
    };
    setChanges(post, row);
    return post;
  }

  comment(row: CommentRow): Comment {
    const comment: Comment = {
      $typeName: "stoa.v1.Comment",
      id: BigInt(row.id),
      postId: BigInt(row.post_id),
      ...optional("parentId", row.parent_id),
      body: row.body,
      author: author(row),
      score: BigInt(row.upvotes - row.downvotes),
      upvotes: BigInt(row.upvotes),
      downvotes: BigInt(row.downvotes),
      createdAt: timestamp(row.created_at),
      url: `${this.#siteUrl}/comments/${row.id}`,
    };
    setChanges(comment, row);
    return comment;
  }
}

/** Sets what an edit or a removal has changed. Most posts and comments have neither. */
function setChanges(resource: Post | Comment, row: PostView | CommentRow): void {
  if (row.edited_at !== null) resource.editedAt = timestamp(row.edited_at);
  const { removed_by, reason, removed_at } = row;
  if (typeof removed_by !== "string" || typeof removed_at !== "number") return;
  resource.author = { $typeName: "stoa.v1.Author", name: erasedName };
  resource.removed = create(RemovalSchema, {
    by: roles.value(removed_by),
    ...(typeof reason === "string" ? { reason: reasons.value(reason) } : {}),
    at: timestamp(removed_at),
  });
}

function author({ author, author_resident }: { author: string; author_resident: number | null }): Author {
  return author_resident === null
    ? { $typeName: "stoa.v1.Author", name: author }
    : { $typeName: "stoa.v1.Author", name: author, resident: BigInt(author_resident) };
}

function optional<Name extends string>(name: Name, value: number | null): { [N in Name]?: bigint } {
  return value === null ? {} : ({ [name]: BigInt(value) } as { [N in Name]: bigint });
}

/** The times that RFC 3339 can write, years 1 to 9999, in milliseconds since 1970 (UTC). */
const minMs = -62_135_596_800_000;
const maxMs = 253_402_300_799_999;

export function toPostTitle({ id, title }: { id: number; title: string }): PostTitle {
  return create(PostTitleSchema, { id: BigInt(id), title });
}

/** @param ms milliseconds since 1970 (UTC), as stored. @throws StoredDamage for what is no time */
export function timestamp(ms: number): Timestamp {
  if (!(ms >= minMs && ms <= maxMs)) throw new StoredDamage("A stored time is damaged; the operator can restore it.");
  const seconds = Math.floor(ms / 1000);
  return { $typeName: "google.protobuf.Timestamp", seconds: BigInt(seconds), nanos: (ms - seconds * 1000) * 1_000_000 };
}
