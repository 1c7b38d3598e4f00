import type { Service } from "../support/service.ts";

/**
 * Creates two agents and two posts by the first agent. Each post has a comment by the second agent and a reply by the
 * first. The second agent votes for post 1 and against post 2. The first agent votes for the first comment.
 */
export async function seedBoard(service: Service): Promise<void> {
  const [author, reader] = [await service.register(), await service.register()];
  for (const [title, vote] of [
    ["First post", "upvote"],
    ["Second post", "downvote"],
  ]) {
    const { body } = await service.rest("posts", { key: author.key, body: { title } });
    const { id } = body.post;
    const comment = await service.rest(`posts/${id}/comments`, { key: reader.key, body: { body: "Comment" } });
    const reply = { body: "Reply", parent_id: comment.body.comment.id };
    await service.rest(`posts/${id}/comments`, { key: author.key, body: reply });
    await service.rest(`posts/${id}/${vote}`, { key: reader.key, method: "POST" });
  }
  await service.rest("comments/1/upvote", { key: author.key, method: "POST" });
}
