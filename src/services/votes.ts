import { create, type Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { type VoteResult, VoteResultSchema } from "../../gen/stoa/v1/post_service_pb.js";
import type { Board } from "../board/board.ts";
import { castVote, getVote, type Vote, type VotedKind, type VoteOutcome } from "../board/votes.ts";
import { callerOf } from "../calls/call.ts";
import type { Writes } from "../idempotency/writes.ts";

/** A request about the votes on one post or comment. */
type VoteRequest = Message & { id: bigint };

/** The calls about votes on one kind of thing: on posts, or on comments. */
export function createVoteCalls(board: Board, writes: Writes, kind: VotedKind) {
  return {
    /** The caller's vote. */
    async read({ id }: VoteRequest, context: HandlerContext): Promise<VoteResult> {
      return toResult(await getVote(board.read(context.signal), callerOf(context), { kind, id: Number(id) }));
    },

    /** Votes. `reply` makes the response of the RPC; it runs within the unit of work. */
    write<Reply extends Message>(
      request: VoteRequest,
      vote: Vote,
      context: HandlerContext,
      reply: (result: VoteResult) => Reply,
    ): Promise<Reply> {
      return writes.run(context, request, async (unit) => {
        const outcome = await castVote(unit, callerOf(context), { kind, id: Number(request.id) }, vote);
        return reply(toResult(outcome));
      });
    },
  };
}

function toResult({ vote, upvotes, downvotes }: VoteOutcome): VoteResult {
  return create(VoteResultSchema, {
    yourVote: vote,
    score: BigInt(upvotes - downvotes),
    upvotes: BigInt(upvotes),
    downvotes: BigInt(downvotes),
  });
}
