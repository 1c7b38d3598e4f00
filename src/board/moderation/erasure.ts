import { eraseActor } from "../../store/tables/moderations.ts";
import { endStandings } from "../../store/tables/moderators.ts";
import { eraseNotesOfReporter } from "../../store/tables/reports.ts";
import { deleteUnfinished, listUnfinished, type UnfinishedRemoval } from "../../store/tables/unfinished-removals.ts";
import type { Board, Queryable, Unit } from "../board.ts";
import { type RemovedContent, removeContent } from "./content.ts";
import type { ModerationReason } from "./words.ts";

/** How many rows one transaction changes. */
const batch = 100;

/** How many unfinished erasures are counted and listed at most. */
const maxListed = 1_000;

/**
 * Continues an erasure that is recorded: the agent moderates nothing any more, no act of moderation says that it was its, and
 * if that was asked for, its posts, its
 * comments and the notes of its reports go. The agent itself was erased when the erasure was recorded.
 * @param endsAt when it stops at the latest, by `performance.now()`
 */
export async function finishErasure(
  board: Board,
  signal: AbortSignal,
  erasure: UnfinishedRemoval,
  endsAt = Number.POSITIVE_INFINITY,
): Promise<RemovedContent> {
  const { item_id: agentId, reason, note } = erasure;
  const repeat = async (step: (unit: Unit) => Promise<boolean>) => {
    for (;;) {
      if (performance.now() >= endsAt) return false;
      if (await board.write(signal, step)) return true;
    }
  };
  let removed: RemovedContent = { posts: 0n, comments: 0n, complete: true };
  if (reason !== null) {
    const request = { reason: reason as ModerationReason, note, keepForDays: 0 };
    removed = await removeContent(board, signal, agentId, request, endsAt);
    if (!removed.complete) return removed;
  }
  // Each step returns where the next one begins.
  const repeatFrom = (step: (unit: Unit, after: number) => Promise<number | undefined>) => {
    let after = 0;
    return repeat(async (unit) => {
      const next = await step(unit, after);
      after = next ?? after;
      return next === undefined;
    });
  };
  const complete =
    (await repeatFrom(({ tx }, after) => endStandings(tx, agentId, after, batch))) &&
    (await repeat(async ({ tx }) => (await eraseActor(tx, agentId, batch)) < batch)) &&
    (reason === null || (await repeatFrom(({ tx }, after) => eraseNotesOfReporter(tx, agentId, after, batch))));
  if (complete) await board.write(signal, ({ tx }) => deleteUnfinished(tx, erasure));
  return { ...removed, complete };
}

/** The erasures of agents that are not finished, at most 1,000. */
export async function listErasures(db: Queryable): Promise<UnfinishedRemoval[]> {
  // No item of another kind comes before the agents.
  const first = await listUnfinished(db, undefined, maxListed);
  return first.filter(({ item }) => item === "agent");
}
