import { StoaError } from "../../errors.ts";
import { openInbox } from "../../store/tables/inboxes.ts";
import {
  type DueSubscription,
  insertNews,
  listDue,
  listMissing,
  listNewest,
  type News,
} from "../../store/tables/news.ts";
import { settleSubscriptions } from "../../store/tables/subscriptions.ts";
import type { Board, Unit } from "../board.ts";
import { keptMs } from "./sweep.ts";

/*
 * What is new in what an agent follows comes into its inbox when the agent reads. So a writer does nothing for followers, and
 * a follower that never reads costs nothing.
 */

/** How many posts and comments one read looks at: the newest. What is older than these does not come any more. */
export const maxBrought = 100;
/**
 * How long a post may take from its time of creation until others can read it, in milliseconds: its transaction has to commit,
 * and clocks of replicas differ. Until then a later read looks for it again.
 */
export const settlingMs = 120_000;

/**
 * Reads something of an agent's inbox, and again if news have come into it. So an agent that follows nothing costs nothing.
 * @param mayFollow whether the agent may have subscriptions, by what was read
 */
export async function readWithNews<Found>(
  { board, signal, agentId }: { board: Board; signal: AbortSignal; agentId: number },
  read: () => Promise<Found>,
  mayFollow: (found: Found) => boolean,
): Promise<Found> {
  const found = await read();
  return mayFollow(found) && (await bringNews(board, signal, agentId)) === "some" ? read() : found;
}

/** What has come into an inbox: `some` if something may have come, `unknown` if the database could not write, or not in time. */
export type Brought = "nothing" | "some" | "unknown";

/** Brings what is new in what an agent follows into its inbox. While the database cannot write, nothing comes. */
export async function bringNews(board: Board, signal: AbortSignal, agentId: number): Promise<Brought> {
  if (board.refusal !== undefined) return "unknown";
  // While the clock is in doubt it is 0, and nothing is settled: what a wrong clock settles would stay silent.
  const now = board.expiryNow();
  const db = board.read(signal);
  const latest = latestAt(now);
  const due = await listDue(db, agentId, latest);
  if (due.length === 0) return "nothing";
  const targets = due.map(({ kind, target_id, since }) => ({
    kind,
    id: target_id,
    since: Math.max(since, now - keptMs),
  }));
  const news = await listNewest(db, targets, maxBrought, { createdAt: latest, id: Number.MAX_SAFE_INTEGER });
  const isSettled = due.some(({ newest }) => isSettledBy(newest, now));
  // Another read may have brought them since the inbox was read.
  if (!isSettled && (await listMissing(db, agentId, news)).length === 0) return "some";
  const first = news.length === maxBrought ? (news.at(-1)?.created_at ?? 0) : 0;
  const settledAt = Math.max(now - settlingMs, first);
  try {
    const hasEnded = await board.writeForRead(signal, async (unit) => {
      if (await bring(unit, agentId, news)) await settleSubscriptions(unit.tx, agentId, settledAt, latest);
    });
    return hasEnded ? "some" : "unknown";
  } catch (error) {
    if (error instanceof StoaError && error.code === "unavailable") return "unknown";
    throw error;
  }
}

/** Whether others can read by now what was created at the time `newest` or before: see `settlingMs`. */
export function isSettledBy(newest: DueSubscription["newest"], now: number): boolean {
  return newest < now - settlingMs;
}

/** The latest time that a clock which is right may tell by now. @param now 0 while the clock is in doubt */
export function latestAt(now: number): number {
  return now === 0 ? Number.MAX_SAFE_INTEGER : now + settlingMs;
}

/** The inbox is locked before its items are looked through, so that nothing comes twice. @returns whether there is one */
async function bring(unit: Unit, agentId: number, news: readonly News[]): Promise<boolean> {
  const { tx, now } = unit;
  if (!(await openInbox(tx, agentId))) return false;
  const missing = await listMissing(tx, agentId, news);
  if (missing.length > 0) {
    await insertNews(tx, agentId, missing, now);
    unit.notified = [agentId];
  }
  return true;
}
