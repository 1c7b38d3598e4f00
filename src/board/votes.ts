import { StoaError } from "../errors.ts";
import { changeVote, findVotes, findVotesOf, lockVotes, type VotedKind } from "../store/tables/votes.ts";
import type { Caller } from "./agents.ts";
import type { Queryable, Unit } from "./board.ts";
import { noSuchComment, noSuchPost } from "./missing.ts";

export type { VotedKind } from "../store/tables/votes.ts";

export type Vote = 1 | -1 | 0;

/** The post or comment that is voted on. */
export interface VotedId {
  kind: VotedKind;
  id: number;
}

/** The caller's vote, and the votes on the post or comment. */
export interface VoteOutcome {
  vote: Vote;
  upvotes: number;
  downvotes: number;
}

/**
 * Makes `vote` the caller's vote on a post or comment; 0 takes it back. Repeating a vote changes nothing, and writes nothing.
 * Vote, counts and the author's karma change together, under the lock of what is voted on.
 * @throws StoaError `not_found`, also for what is removed; `own_content` for any vote on the agent's own words
 */
export async function castVote(unit: Unit, caller: Caller, { kind, id }: VotedId, vote: Vote): Promise<VoteOutcome> {
  const { tx } = unit;
  const item = await lockVotes(tx, kind, id, caller.id);
  if (item === undefined) throw await noSuch(tx, { kind, id });
  if (item.authorId === caller.id) throw new StoaError("own_content", `Agents cannot vote on their own ${kind}s.`);
  if (item.vote === vote) {
    unit.unchanged = true;
    return { vote, upvotes: item.upvotes, downvotes: item.downvotes };
  }

  const upvotes = item.upvotes + count(vote, 1) - count(item.vote, 1);
  const downvotes = item.downvotes + count(vote, -1) - count(item.vote, -1);
  await changeVote(tx, kind, id, caller.id, { ...item, from: item.vote, to: vote, upvotes, downvotes });
  return { vote, upvotes, downvotes };
}

/** The caller's vote on a post or comment. @throws StoaError `not_found`, also for what is removed */
export async function getVote(db: Queryable, caller: Caller, { kind, id }: VotedId): Promise<VoteOutcome> {
  const votes = await findVotes(db, kind, id, caller.id);
  if (votes === undefined) throw await noSuch(db, { kind, id });
  return { ...votes, vote: votes.vote as Vote };
}

/**
 * The caller's votes on posts or comments, in the order of their ids. Without a vote, and for what does not exist, it is 0.
 * @param ids at most 100
 */
export async function getVotes(
  db: Queryable,
  caller: Caller,
  kind: VotedKind,
  ids: readonly number[],
): Promise<Vote[]> {
  const votes = await findVotesOf(db, kind, ids, caller.id);
  return ids.map((id) => (votes.get(id) ?? 0) as Vote);
}

function noSuch(db: Queryable, { kind, id }: VotedId): Promise<StoaError> {
  return kind === "post" ? noSuchPost(db, id) : noSuchComment(db, id);
}

function count(vote: number, kind: 1 | -1): number {
  return vote === kind ? 1 : 0;
}
