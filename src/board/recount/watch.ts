import { schemaFaultOf } from "../../store/database/database-errors.ts";
import { describeFinding, type Finding, type TableCheck } from "../../store/recount/finding.ts";
import { sleep } from "../../timing/wait.ts";
import type { Board } from "../board.ts";
import { checks } from "./checks.ts";
import { RecountWalk } from "./walk.ts";

/** The pace of the recount. */
export interface RecountPace {
  /** How long it waits after the start of the service, in milliseconds. */
  delayMs: number;
  /** The share of time in which the database counts. It uses one connection then. */
  share: number;
  /** The minimum time between the starts of two rounds, in milliseconds. */
  roundMs: number;
  /** How often it checks known findings again, and how long it waits after a failure, in milliseconds. */
  lookMs: number;
}

export const defaultPace: RecountPace = { delayMs: 60_000, share: 0.05, roundMs: 3_600_000, lookMs: 60_000 };

export interface RecountLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface Known {
  check: TableCheck;
  finding: Finding;
}

/** When these are repaired, further findings are found again. */
const maxKnown = 100;

/**
 * Recounts the board in the background, one portion at a time, round after round. It remembers each finding until the value
 * is right again. Every replica does it.
 */
export class RecountWatch {
  readonly #board: Board;
  readonly #log: RecountLog;
  readonly #pace: RecountPace;
  /** The known findings, by their descriptions. */
  readonly #known = new Map<string, Known>();
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  #lookedAt = performance.now();
  #finishedAt: number | undefined;

  constructor(board: Board, log: RecountLog, pace: RecountPace = defaultPace) {
    this.#board = board;
    this.#log = log;
    this.#pace = pace;
    this.#ended = this.#run().catch((err) => {
      if (!this.#stopping.signal.aborted) log.error({ err }, "the background recount has ended");
    });
  }

  /** The warning for the operator; undefined without findings. */
  get warning(): string | undefined {
    const [first] = this.#known.keys();
    if (first === undefined) return undefined;
    const more = this.#known.size > 1 ? ` and ${this.#known.size - 1} more` : "";
    return `Stored values are wrong: ${first}${more}. Run: npm run stoa -- fsck --repair.`;
  }

  /** The number of known findings, up to 100. */
  get count(): number {
    return this.#known.size;
  }

  /** When a round was last finished, in milliseconds since 1970 (UTC). */
  get finishedAt(): number | undefined {
    return this.#finishedAt;
  }

  /** Stops the recount. Resolves when its last statement has ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the service is stopping"));
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { delayMs, roundMs, lookMs } = this.#pace;
    await this.#pause(delayMs);
    for (;;) {
      const endsAt = performance.now() + roundMs;
      for (const check of checks) {
        const walk = new RecountWalk(check);
        while (await this.#portion(walk));
      }
      this.#finishedAt = this.#board.now();
      do {
        await this.#pause(Math.min(lookMs, Math.max(endsAt - performance.now(), 0)));
        await this.#lookAgain();
      } while (performance.now() < endsAt);
    }
  }

  /** @returns false at the end of the table, and if the schema lacks something that the check needs */
  async #portion(walk: RecountWalk): Promise<boolean> {
    const { signal } = this.#stopping;
    const begun = performance.now();
    try {
      const found = await walk.next(this.#board.read(signal), this.#board.now());
      if (found === undefined) return false;
      for (const finding of found) this.#note(walk.check, finding);
      await this.#rest(begun);
      if (performance.now() - this.#lookedAt > this.#pace.lookMs) await this.#lookAgain();
    } catch (err) {
      signal.throwIfAborted();
      this.#log.warn({ err, table: walk.check.table }, "a recount failed");
      await this.#pause(this.#pace.lookMs);
      // If a table cannot be counted, the recount goes on with the next table. The next round tries again.
      return schemaFaultOf(err) === undefined;
    }
    return true;
  }

  #note(check: TableCheck, finding: Finding): void {
    const line = describeFinding(finding);
    if (this.#known.size >= maxKnown || this.#known.has(line)) return;
    this.#known.set(line, { check, finding });
    this.#log.error({ finding }, `a stored value is wrong: ${line}`);
  }

  /** Forgets what has been repaired. */
  async #lookAgain(): Promise<void> {
    const { signal } = this.#stopping;
    this.#lookedAt = performance.now();
    for (const [line, { check, finding }] of [...this.#known]) {
      const begun = performance.now();
      const id = Number(finding.key[check.key]);
      try {
        const found = await check.find(this.#board.read(signal), { after: id - 1, to: id }, this.#board.now());
        if (found.some((each) => describeFinding(each) === line)) continue;
        this.#known.delete(line);
        for (const each of found) this.#note(check, each);
        if (this.#known.size === 0) this.#log.info({}, "all wrong stored values have been repaired");
        await this.#rest(begun);
      } catch (error) {
        // The finding stays known. Failures are logged by the walk.
        signal.throwIfAborted();
        if (schemaFaultOf(error) === undefined) return;
      }
    }
  }

  /** Pauses after a statement, for as long as `share` demands. */
  #rest(begun: number): Promise<void> {
    return this.#pause((performance.now() - begun) * (1 / this.#pace.share - 1));
  }

  #pause(ms: number): Promise<void> {
    return sleep(ms, this.#stopping.signal);
  }
}
