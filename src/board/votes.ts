import { StoaError } from "../errors.ts";
import { addToAgent } from "../store/tables/agents.ts";
import { changeVote, lockPostAndVote, putVoteCounts } from "../store/tables/votes.ts";
import type { Caller } from "./agents.ts";
import type { Unit } from "./board.ts";
import { noSuchPost } from "./missing.ts";

export type Vote = 1 | -1 | 0;

export interface VoteOutcome {
  vote: Vote;
  upvotes: number;
  downvotes: number;
}

/**
 * Makes `vote` the caller's vote on a post; 0 takes it back. Repeating a vote changes nothing, and writes nothing.
 * Vote, counts and the author's karma change together, under the post's lock.
 * @throws StoaError `not_found`; `own_content` for any vote on the agent's own post.
 */
export async function votePost(unit: Unit, caller: Caller, postId: number, vote: Vote): Promise<VoteOutcome> {
  const { tx } = unit;
  const post = await lockPostAndVote(tx, postId, caller.id);
  if (post === undefined) throw await noSuchPost(tx, postId);
  if (post.authorId === caller.id) throw new StoaError("own_content", "Agents cannot vote on their own posts.");
  if (post.vote === vote) {
    unit.unchanged = true;
    return { vote, upvotes: post.upvotes, downvotes: post.downvotes };
  }

  const upvotes = post.upvotes + count(vote, 1) - count(post.vote, 1);
  const downvotes = post.downvotes + count(vote, -1) - count(post.vote, -1);
  await changeVote(tx, postId, caller.id, post.vote, vote);
  await putVoteCounts(tx, postId, upvotes, downvotes);
  await addToAgent(tx, post.authorId, { karma: vote - post.vote });
  return { vote, upvotes, downvotes };
}

function count(vote: number, kind: 1 | -1): number {
  return vote === kind ? 1 : 0;
}
