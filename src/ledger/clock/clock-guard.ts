import type { Database } from "../../store/database/database.ts";
import { type KnownTimes, readKnownTimes } from "../../store/tables/clock-approvals.ts";
import { Ticker } from "../../timing/ticker.ts";
import { dateOf, dayMs, startOf } from "../calendar.ts";
import { dueDays } from "../sealing/day-sealer.ts";
import { describeDuration } from "./duration.ts";
import { toleranceMs } from "./tolerance.ts";
import type { TrustedClock } from "./trusted-clock.ts";

/** How many missed days are sealed without an operator's approval. */
const maxMissedDays = 3;
/** How often the clocks are compared while they agree, in milliseconds of the steady clock. */
const lookMs = 60_000;
const tickMs = 1_000;

const approvalHelp = "waits for an operator: npm run stoa -- seal --catch-up";

export interface ClockGuardOptions {
  db: Database;
  clock: TrustedClock;
  log: {
    info(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
  /** Replaces the database's clock in tests. */
  databaseNow?: (() => number) | undefined;
}

/**
 * Compares the service's clock with the database's, with the newest receipt's time and with the steady clock. While
 * they disagree, the clock is in doubt: nothing is sealed, and nothing expires. The doubt ends by itself when they
 * agree.
 */
export class ClockGuard {
  readonly #options: ClockGuardOptions;
  /** The disagreements that the last comparison found, except for a jump. */
  #found: string | undefined;
  #logged: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ClockGuardOptions) {
    this.#options = options;
  }

  /** Why the clock is in doubt, by the last comparison; undefined if it is not. */
  get doubt(): string | undefined {
    return joined([describeJump(this.#options.clock.jumpMs), this.#found]);
  }

  /**
   * The time against which expiry is checked, in milliseconds since 1970 (UTC). It is 0 while the clock is in doubt, so
   * that nothing expires. A jump is no reason: the time of `TrustedClock` does not follow it.
   */
  readonly expiryNow = (): number => (this.#found === undefined ? this.#options.clock.now() : 0);

  /**
   * Compares the clocks now; a `SealCheck`.
   * @param isApproved whether an operator approved sealing: then missed days and the newest receipt's time are no
   * reason
   * @returns why nothing may be sealed
   */
  async check(signal: AbortSignal, isApproved = false): Promise<string | undefined> {
    const { db, clock, databaseNow } = this.#options;
    this.#lookedAt = clock.steadyNow();
    const reader = db.priority.reader(signal);
    const before = clock.wallMs;
    const known = await readKnownTimes(reader, dateOf(clock.now()));
    const differs = describeDifference(before, clock.wallMs, databaseNow?.() ?? known.databaseNow);
    const needsApproval = joined([describeHead(known, clock.now()), await describeMissed(known, clock.now(), reader)]);
    const jump = describeJump(clock.jumpMs);
    this.#found = joined([differs, needsApproval]);
    // A clock that was in doubt before the jump starts afresh: the jump may have set it right.
    if (this.#found === undefined) clock.trust();
    else if (jump === undefined) clock.distrust();
    this.#log(joined([jump, this.#found]));
    return joined(isApproved ? [jump, differs] : [jump, differs, needsApproval]);
  }

  /**
   * Compares the clocks every minute. While they disagree it does so every second, so that a corrected clock is soon
   * noticed.
   */
  watch(): Ticker {
    const { clock, log } = this.#options;
    const look = async (signal: AbortSignal) => {
      const isDue = clock.steadyNow() - this.#lookedAt >= lookMs;
      if (isDue || this.#logged !== undefined || this.doubt !== undefined) await this.check(signal);
    };
    return new Ticker(tickMs, look, (err) => log.error({ err }, "the clocks could not be compared"));
  }

  #log(doubt: string | undefined): void {
    if (doubt === this.#logged) return;
    this.#logged = doubt;
    const { log } = this.#options;
    if (doubt === undefined) log.info({}, "the clock is no longer in doubt");
    else log.error({ reason: doubt }, "the clock is in doubt: nothing is sealed, and no stored response expires");
  }
}

function joined(reasons: (string | undefined)[]): string | undefined {
  const given = reasons.filter((reason) => reason !== undefined);
  return given.length === 0 ? undefined : given.join(" ");
}

function describeJump(jumpMs: number): string | undefined {
  if (jumpMs === 0) return undefined;
  const way = jumpMs > 0 ? "ahead" : "back";
  return `The service's clock jumped ${way} by ${describeDuration(jumpMs)}; set it right, or restart the service if it is right now.`;
}

/** The database's clock was read between two readings of the service's. */
function describeDifference(before: number, after: number, databaseNow: number): string | undefined {
  const aheadMs = before > databaseNow ? before - databaseNow : Math.min(after - databaseNow, 0);
  if (Math.abs(aheadMs) <= toleranceMs) return undefined;
  const way = aheadMs > 0 ? "ahead of" : "behind";
  return `The service's clock is ${describeDuration(aheadMs)} ${way} the database's; one of them is wrong.`;
}

function describeHead({ headTs, approvedTs }: KnownTimes, now: number): string | undefined {
  if (headTs - now <= toleranceMs || headTs <= approvedTs) return undefined;
  const time = new Date(headTs).toISOString();
  return `The newest receipt's time, ${time}, is ahead of the service's clock; if that is right, sealing ${approvalHelp}.`;
}

async function describeMissed(
  { firstDay, sealedDays }: KnownTimes,
  now: number,
  db: Parameters<typeof dueDays>[0],
): Promise<string | undefined> {
  if (firstDay === undefined) return undefined;
  const missed = Math.floor((now - startOf(firstDay)) / dayMs) - sealedDays;
  if (missed <= maxMissedDays) return undefined;
  const days = await dueDays(db, firstDay, dateOf(now));
  const range = days.length === 0 ? "" : ` (${days[0]} to ${days.at(-1)})`;
  return `${missed} missed days${range} would be sealed at once, which ${approvalHelp}.`;
}
