import type { CallOptions } from "@connectrpc/connect";
import { StoaError } from "./error.ts";

/** The reply of a call that removes as much as its time allows. */
interface Removed {
  posts: number;
  comments: number;
  complete: boolean;
}

/**
 * Repeats a call until it has removed everything, or until a call removes nothing: then the next one may not either.
 * `timeoutMs` limits all calls together.
 * @returns the last reply, with the sums of all replies
 * @throws StoaError
 */
export async function untilComplete<Reply extends Removed>(
  options: CallOptions = {},
  call: (options: CallOptions) => Promise<Reply>,
): Promise<Reply> {
  const { timeoutMs } = options;
  const isLimited = timeoutMs !== undefined && timeoutMs > 0;
  const end = isLimited ? performance.now() + timeoutMs : Number.POSITIVE_INFINITY;
  let posts = 0;
  let comments = 0;
  for (;;) {
    const left = end - performance.now();
    if (left <= 0) throw new StoaError("silent", "not everything was removed in time; repeat the call");
    const reply = await call(isLimited ? { ...options, timeoutMs: left } : options);
    posts += reply.posts;
    comments += reply.comments;
    if (reply.complete || reply.posts + reply.comments === 0) return { ...reply, posts, comments };
  }
}
