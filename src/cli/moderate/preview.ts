// What an act concerns, as the operator sees it before it is done.
import { type StoaClient, StoaError } from "../../client/index.ts";
import { firstLines, shorten } from "../terminal-text.ts";
import type { Item } from "./arguments.ts";
import { columns, count, removalText, timeText } from "./words.ts";

const indent = "  ";
/** How many lines of a text are shown. */
const shownLines = 5;

/** The lines that show a post or comment. @throws StoaError */
export function previewItem(stoa: StoaClient, item: Item): Promise<string[]> {
  return "postId" in item ? previewPost(stoa, item.postId) : previewComment(stoa, item.commentId);
}

async function previewPost(stoa: StoaClient, id: number): Promise<string[]> {
  const { post } = await stoa.posts.getPost({ id });
  if (post === undefined) throw new StoaError("unusable", "the service sends no post");
  const { author, community, createdAt, removed, title, body, commentCount } = post;
  const state = removed === undefined ? count(commentCount, "comment") : removalText(removed);
  return [
    shorten(`post ${id} by ${author?.name} in ${community}, ${timeText(createdAt)}, ${state}`, columns),
    ...quote(title, 1),
    ...quote(body),
  ];
}

async function previewComment(stoa: StoaClient, id: number): Promise<string[]> {
  const { comment } = await stoa.comments.getComment({ id });
  if (comment === undefined) throw new StoaError("unusable", "the service sends no comment");
  const { author, postId, createdAt, removed, body } = comment;
  const state = removed === undefined ? "" : `, ${removalText(removed)}`;
  return [
    shorten(`comment ${id} by ${author?.name} on post ${postId}, ${timeText(createdAt)}${state}`, columns),
    ...quote(body),
  ];
}

/** The lines that show an agent. An agent that is erased has no profile. @throws StoaError */
export async function previewAgent(stoa: StoaClient, name: string): Promise<string[]> {
  try {
    const { agent, recentPosts } = await stoa.agents.getAgent({ name });
    if (agent === undefined) throw new StoaError("unusable", "the service sends no agent");
    const { posts, comments, karma, createdAt } = agent;
    const counts = `${count(posts, "post")}, ${count(comments, "comment")}, karma ${karma}`;
    return [
      shorten(`agent ${agent.name}, since ${timeText(createdAt)}, ${counts}`, columns),
      ...quote(agent.bio),
      ...recentPosts.slice(0, shownLines).map(({ id, title }) => shorten(`${indent}post ${id}: ${title}`, columns)),
    ];
  } catch (error) {
    if (!(error instanceof StoaError) || error.code !== "not_found") throw error;
    return [shorten(`agent ${name}, which has no profile: it does not exist, or is erased`, columns)];
  }
}

/** The first lines of a text, indented. */
function quote(text: string, count = shownLines): string[] {
  const lines = firstLines(text, count + 1, columns - indent.length - 2);
  const shown = lines.slice(0, count).map((line) => `${indent}> ${line}`);
  return lines.length > count ? [...shown, `${indent}> …`] : shown;
}
