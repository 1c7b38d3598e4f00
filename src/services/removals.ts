import type { Comment, Post } from "../../gen/stoa/v1/resources_pb.js";
import type { Unit } from "../board/board.ts";
import { removeComment, restoreComment } from "../board/moderation/comments.ts";
import { removePost, restorePost } from "../board/moderation/posts.ts";
import type { Moderator, RemovalRequest } from "../board/moderation/roles.ts";
import type { ResourceMapper } from "./resource-mapper.ts";
import { replaceStored } from "./stored-items.ts";

/**
 * Removals and restores, by agents and by the operator. The stored responses that show the text follow in the same unit of
 * work. Each returns what everybody sees then.
 */
export class Removals {
  readonly #mapper: ResourceMapper;

  constructor(mapper: ResourceMapper) {
    this.#mapper = mapper;
  }

  /** @throws as `removePost` of the board */
  async removePost(unit: Unit, moderator: Moderator, id: bigint | number, request: RemovalRequest): Promise<Post> {
    return this.#showPost(unit, await removePost(unit, moderator, Number(id), request));
  }

  /** @throws as `restorePost` of the board */
  async restorePost(unit: Unit, moderator: Moderator, id: bigint): Promise<Post> {
    return this.#showPost(unit, await restorePost(unit, moderator, Number(id)));
  }

  /** @throws as `removeComment` of the board */
  async removeComment(
    unit: Unit,
    moderator: Moderator,
    id: bigint | number,
    request: RemovalRequest,
  ): Promise<Comment> {
    return this.#showComment(unit, await removeComment(unit, moderator, Number(id), request));
  }

  /** @throws as `restoreComment` of the board */
  async restoreComment(unit: Unit, moderator: Moderator, id: bigint): Promise<Comment> {
    return this.#showComment(unit, await restoreComment(unit, moderator, Number(id)));
  }

  async #showPost(unit: Unit, row: Awaited<ReturnType<typeof removePost>>): Promise<Post> {
    const post = this.#mapper.post(row);
    await replaceStored(unit, post, row.created_at);
    return post;
  }

  async #showComment(unit: Unit, row: Awaited<ReturnType<typeof removeComment>>): Promise<Comment> {
    const comment = this.#mapper.comment(row);
    await replaceStored(unit, comment, row.created_at);
    return comment;
  }
}
