import { eraseActor } from "../../store/tables/moderations.ts";
import { endStandings } from "../../store/tables/moderators.ts";
import { eraseNotesOfReporter } from "../../store/tables/reports.ts";
import { deleteUnfinished, listUnfinished, type UnfinishedRemoval } from "../../store/tables/unfinished-removals.ts";
import type { Board, Queryable } from "../board.ts";
import { changeInSteps, type RemovedContent, removeContent } from "./content.ts";
import type { ModerationReason } from "./words.ts";

/** How many rows one transaction changes. */
const batch = 100;

/** How many unfinished erasures are listed at most. */
const maxListed = 1_000;

/**
 * Continues an erasure that is recorded: the agent moderates nothing any more, no act of moderation names it, the notes of
 * its reports go, and so do its posts and comments, if that was asked for. The agent itself was erased when the erasure was
 * recorded.
 * @param endsAt when it stops at the latest, by `performance.now()`
 */
export async function finishErasure(
  board: Board,
  signal: AbortSignal,
  erasure: UnfinishedRemoval,
  endsAt = Number.POSITIVE_INFINITY,
): Promise<RemovedContent> {
  const { item, item_id: agentId, reason, note } = erasure;
  const by = item === "author" ? { id: agentId } : "operator";
  let removed: RemovedContent = { posts: 0n, comments: 0n, complete: true };
  if (reason !== null) {
    const request = { reason: reason as ModerationReason, note, keepForDays: 0 };
    removed = await removeContent(board, signal, { agentId, by }, request, endsAt);
    if (!removed.complete) return removed;
  }
  const inSteps = (step: Parameters<typeof changeInSteps>[3]) => changeInSteps(board, signal, endsAt, step);
  const complete =
    (await inSteps(({ tx }, after) => endStandings(tx, agentId, after, batch))) &&
    (await inSteps(async ({ tx }) => ((await eraseActor(tx, agentId, batch)) < batch ? undefined : 0))) &&
    (await inSteps(({ tx }, after) => eraseNotesOfReporter(tx, agentId, after, batch)));
  if (complete) await board.write(signal, ({ tx }) => deleteUnfinished(tx, erasure));
  return { ...removed, complete };
}

/** The erasures of agents that are not finished, at most `maxListed`. */
export async function listErasures(db: Queryable): Promise<UnfinishedRemoval[]> {
  // Agents and authors come first in the order of the keys.
  const first = await listUnfinished(db, undefined, maxListed);
  return first.filter(({ item }) => item === "agent" || item === "author");
}
