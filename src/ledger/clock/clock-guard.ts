import type { Database } from "../../store/database/database.ts";
import { type KnownTimes, readKnownTimes } from "../../store/tables/clock-approvals.ts";
import { Ticker } from "../../timing/ticker.ts";
import { dateOf, dayMs, startOf } from "../calendar.ts";
import type { LedgerLog } from "../log.ts";
import { dueDays } from "../sealing/day-sealer.ts";
import { describeDuration } from "./duration.ts";
import { toleranceMs } from "./tolerance.ts";
import type { TrustedClock } from "./trusted-clock.ts";

/** How many missed days are sealed without an operator's approval. */
const maxMissedDays = 3;
/** How often the clocks are compared while they agree, in milliseconds of the steady clock. */
const lookMs = 60_000;
/** How often the guard looks whether a comparison is due, in milliseconds. */
const tickMs = 1_000;
/** How far the clocks of the machine and of the database may differ without a warning, in milliseconds. */
const unnoticedMs = 2_000;

const approvalHelp = "waits for an operator: npm run stoa -- seal --catch-up";

export interface ClockGuardOptions {
  db: Database;
  clock: TrustedClock;
  log: LedgerLog;
  /** Replaces the database's clock in tests. */
  databaseNow?: (() => number) | undefined;
}

/**
 * Compares the clock of the service's machine with the database's, which is the time of the service, and both with the
 * newest receipt's time and with the steady clock. While they disagree, the clock is in doubt: nothing is sealed and, except
 * after a jump, nothing expires. The doubt ends by itself when they agree.
 */
export class ClockGuard {
  readonly #options: ClockGuardOptions;
  /** The jump that the last comparison found, for the operator. */
  #jump: string | undefined;
  /** What the last comparison found besides a jump, for the operator. */
  #found: string | undefined;
  #logged: string | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #aheadMs = 0;
  /** By how much the wall clock was ahead of the time of the service at the last comparison, in milliseconds. */
  #wallLead = 0;

  constructor(options: ClockGuardOptions) {
    this.#options = options;
  }

  /** Why the clock is in doubt, by the last comparison; undefined if it is not. */
  get doubt(): string | undefined {
    return joined([this.#jump, this.#found]);
  }

  /** By how many milliseconds the machine's clock was ahead of the database's at the last comparison; negative if behind. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** Warns that the clocks of the machine and of the database differ, but not enough for a doubt; undefined if they agree. */
  get difference(): string | undefined {
    const ms = Math.abs(this.#aheadMs);
    if (ms <= unnoticedMs || ms > toleranceMs) return undefined;
    return `${describeAhead(this.#aheadMs)}. Stoa goes by the database's; set both by NTP.`;
  }

  /**
   * The time against which expiry is checked, in milliseconds since 1970 (UTC). It is 0 while the clock is in doubt, so
   * that nothing expires. A jump alone does not stop expiry, because the time of `TrustedClock` does not follow it.
   */
  readonly expiryNow = (): number => (this.#found === undefined ? this.#options.clock.now() : 0);

  /**
   * Compares the clocks now, and corrects the time of the service; a `SealCheck`.
   * @param isApproved whether an operator approved sealing: then missed days and the newest receipt's time do not block it
   * @returns why nothing may be sealed
   */
  async check(signal: AbortSignal, isApproved = false): Promise<string | undefined> {
    const { db, clock, databaseNow } = this.#options;
    this.#lookedAt = clock.steadyNow();
    const reader = db.priority.reader(signal);
    const [before, wallBefore] = [clock.steadyMs, clock.wallMs];
    const known = await readKnownTimes(reader, dateOf(clock.now()));
    const databaseMs = databaseNow?.() ?? known.databaseNow;
    this.#aheadMs = aheadOf(wallBefore, clock.wallMs, databaseMs);
    const differs = describeDifference(this.#aheadMs);
    const reading = { before, after: clock.steadyMs, databaseMs, agrees: differs === undefined };
    this.#jump = describeJump(clock.follow(reading));
    this.#wallLead = clock.wallMs - clock.now();
    const needsApproval = joined([describeHead(known, clock.now()), await describeMissed(known, clock.now(), reader)]);
    this.#found = joined([differs, needsApproval]);
    // If the clock was in doubt before the jump, it stays distrusted: the jump may have set it right.
    if (this.#found === undefined) clock.trust();
    else if (this.#jump === undefined) clock.distrust();
    this.#log(this.doubt);
    return joined(isApproved ? [this.#jump, differs] : [this.#jump, differs, needsApproval]);
  }

  /**
   * Compares the clocks every minute, and soon after the wall clock was set or the machine has slept. While the clocks
   * disagree it does so every second, so that a corrected clock is soon noticed.
   */
  watch(): Ticker {
    const { clock, log } = this.#options;
    const look = async (signal: AbortSignal) => {
      const isDue = clock.steadyNow() - this.#lookedAt >= lookMs;
      const isSet = Math.abs(clock.wallMs - clock.now() - this.#wallLead) > unnoticedMs;
      if (isDue || isSet || this.#logged !== undefined || this.doubt !== undefined) await this.check(signal);
    };
    return new Ticker(tickMs, look, (err) => log.error({ err }, "the clocks could not be compared"));
  }

  #log(doubt: string | undefined): void {
    if (doubt === this.#logged) return;
    this.#logged = doubt;
    const { log } = this.#options;
    if (doubt === undefined) log.info({}, "the clock is no longer in doubt");
    else {
      const effect = this.#found === undefined ? "nothing is sealed" : "nothing is sealed, and nothing expires";
      log.error({ reason: doubt }, `the clock is in doubt: ${effect}`);
    }
  }
}

function joined(reasons: (string | undefined)[]): string | undefined {
  return reasons.filter(Boolean).join(" ") || undefined;
}

function describeJump(jumpMs: number): string | undefined {
  if (jumpMs === 0) return undefined;
  const way = jumpMs > 0 ? "ahead" : "back";
  return `The service's clock jumped ${way} by ${describeDuration(jumpMs)}; set it right, or restart the service if it is right now.`;
}

/** By how much the service's clock is at least ahead. The database's clock was read between `before` and `after`. */
function aheadOf(before: number, after: number, databaseNow: number): number {
  return before > databaseNow ? before - databaseNow : Math.min(after - databaseNow, 0);
}

function describeDifference(aheadMs: number): string | undefined {
  return Math.abs(aheadMs) > toleranceMs ? `${describeAhead(aheadMs)}; one of them is wrong.` : undefined;
}

function describeAhead(aheadMs: number): string {
  return `The service's clock is ${describeDuration(aheadMs)} ${aheadMs > 0 ? "ahead of" : "behind"} the database's`;
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
