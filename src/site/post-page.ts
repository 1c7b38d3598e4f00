import { CommentService, CommentSort } from "../../gen/stoa/v1/comment_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import type { Comment, Post } from "../../gen/stoa/v1/resources_pb.js";
import type { RequestContext } from "../http/requests/context.ts";
import { parties } from "../timing/parties.ts";
import { Semaphore } from "../timing/semaphore.ts";
import type { Html } from "./html.ts";
import type { PageContext } from "./page-context.ts";
import { pathSegment, pickParameters } from "./page-url.ts";
import { thread } from "./thread.ts";
import { commentView } from "./views/comment.ts";
import { logPath } from "./views/log-text.ts";
import { commentsPath, type PostPage, postView, type SortName } from "./views/post.ts";

/** The maximum number of comments on a page. More take too long to load and to read on a phone. */
const maxComments = 250;
/** The maximum number of characters of comments on a page. At least one comment is shown. */
const maxCharacters = 256 * 1024;
/** The maximum number of replies on the page of a comment. */
const maxReplies = 50n;
/** How many pages are rendered at the same time. Each may hold 1 MiB of comments in memory. */
const maxPages = 8;
/** How many further requests may wait. Readers take turns. */
const maxWaiting = 256;

/** Adds the page of a post with its comments, and the page of a comment. */
export function addPostPage({ add, read, bodies, siteUrl, hasLog, now, show }: PageContext): void {
  const logOf = (item: "post" | "comment", id: bigint) => (hasLog() ? logPath(item, id) : undefined);
  const rendering = new Semaphore({
    limit: maxPages,
    maxWaiting,
    busyMessage: "Too many readers are requesting pages at the moment.",
  });
  const inTurn = <T>(request: RequestContext, work: () => Promise<T>): Promise<T> => {
    parties.set(request.signal, request.notes.agent ?? request.client.counted);
    return rendering.run(request.signal, work);
  };
  const getPost = read(PostService.method.getPost);
  const listComments = read(CommentService.method.listComments);
  const getComment = read(CommentService.method.getComment);
  const listReplies = read(CommentService.method.listReplies);

  const makePage = async (request: RequestContext): Promise<PostPage> => {
    const query = pickParameters(request, ["cursor", "sort", "from"]);
    const has = (parameter: string) => query.some(([name]) => name === parameter);
    const path = { id: pathSegment(request, 2) };
    let sort: SortName = "old";
    const list = async (limit: number) => {
      const { input, output } = await listComments(request, { path, query, fields: { limit: BigInt(limit) } });
      sort = CommentSort[input.sort ?? CommentSort.OLD].toLowerCase() as SortName;
      return output;
    };
    const isOther = query.length > 0;
    // The post comes with its oldest comments.
    const found = (await getPost(request, { path, fields: { limit: BigInt(isOther ? 1 : maxComments) } })).output;
    let page = isOther ? await list(maxComments) : found;
    const fitting = countFitting(page.comments);
    // Only the API can create the cursor of a shorter page.
    if (fitting < page.comments.length) page = await list(fitting);

    const post = found.post as Post;
    const threaded = thread(page.comments);
    const [body, ...rendered] = await bodies.render(
      [{ text: post.body, heading: 2 }, ...threaded.map(({ comment }) => ({ text: comment.body, heading: 3 }))],
      request.signal,
    );
    const { nextCursor } = page;
    return {
      post,
      body: body as Html,
      log: logOf("post", post.id),
      comments: threaded.map((each, index) => ({
        position: each,
        body: rendered[index] as Html,
        log: logOf("comment", each.comment.id),
      })),
      sort,
      next: nextCursor === undefined ? undefined : commentsPath(post.id, sort, nextCursor),
      isLater: has("cursor") || (has("from") && sort === "old"),
      site: siteUrl,
      now: now(),
    };
  };

  add("/posts/:id", async (request) => {
    const page = await inTurn(request, () => makePage(request));
    return show(request, postView(page));
  });

  add("/comments/:id", async (request) => {
    const page = await inTurn(request, async () => {
      const comment = (await getComment(request, { path: { id: pathSegment(request, 2) } })).output.comment as Comment;
      const { parentId } = comment;
      const found = (await getPost(request, { fields: { id: comment.postId, limit: BigInt(maxComments) } })).output;
      const post = found.post as Post;
      const parent =
        parentId === undefined ? undefined : (await getComment(request, { fields: { id: parentId } })).output.comment;
      const fields = { id: comment.id, limit: maxReplies };
      const { comments, nextCursor } = (await listReplies(request, { fields })).output;
      const texts = [comment, parent, ...comments].map((each) => each?.body ?? "");
      const [body, parentBody, ...rendered] = await bodies.render(
        texts.map((text) => ({ text, heading: 2 })),
        request.signal,
      );
      const replies = comments.map((reply, index) => ({
        position: { comment: reply, depth: 0, parent: comment, isOnPageOfParent: true },
        body: rendered[index] as Html,
        log: logOf("comment", reply.id),
      }));
      const texted = { body: body as Html, parentBody: parentBody as Html };
      return {
        comment,
        post,
        parent,
        ...texted,
        replies,
        hasMore: nextCursor !== undefined,
        thread: threadPath(comment, found.comments),
        log: logOf("comment", comment.id),
        now: now(),
      };
    });
    return show(request, commentView(page));
  });
}

/**
 * The address of a comment in its thread: on the first page, or on a page that begins with it. Lower ids need not be older, so
 * the page cannot begin some ids before it.
 */
function threadPath({ id, postId }: Comment, first: readonly Comment[]): string {
  const isOnFirstPage = first.slice(0, countFitting(first)).some((each) => each.id === id);
  return `/posts/${postId}${isOnFirstPage ? "" : `?from=${id}`}#c${id}`;
}

/** How many of the first comments fit on a page. */
function countFitting(comments: readonly Comment[]): number {
  let characters = 0;
  const last = Math.min(comments.length, maxComments);
  for (let count = 0; count < last; count++) {
    characters += comments[count]?.body.length ?? 0;
    if (characters > maxCharacters) return Math.max(count, 1);
  }
  return last;
}
