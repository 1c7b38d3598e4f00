import type { GaugeSource } from "../metrics/metrics.ts";
import type { Queryable } from "../store/database/queryable.ts";
import { type FsckRun, readLastFsck } from "../store/tables/last-fsck.ts";

/** The warning names at most so many kinds of findings. */
const maxNamed = 5;

/** The last recorded run of `stoa fsck`, for /readyz and the metrics. */
export class LastFsck {
  /** Undefined before the first run. */
  #run: FsckRun | undefined;

  /** Reads the record from the database. */
  async refresh(db: Queryable): Promise<void> {
    this.#run = await readLastFsck(db);
  }

  /** The warning for the operator; undefined if the last run left no finding without repair. */
  get warning(): string | undefined {
    if (this.#run === undefined || this.#left === 0) return undefined;
    const { endedAt, kinds } = this.#run;
    const left = Object.entries(kinds)
      .map(([kind, { findings, repaired }]) => ({ kind, count: findings - repaired }))
      .filter(({ count }) => count > 0);
    const named = left.slice(0, maxNamed).map(({ kind, count }) => `${kind}: ${count}`);
    if (left.length > maxNamed) named.push("…");
    const at = new Date(endedAt).toISOString();
    return `fsck has found what is wrong in the database (${named.join(", ")}) at ${at}. Run: npm run stoa -- fsck.`;
  }

  get gauges(): GaugeSource[] {
    return [
      {
        name: "stoa_fsck_finished_timestamp_seconds",
        help: "When the last complete run of stoa fsck ended; 0 before the first.",
        read: () => (this.#run?.endedAt ?? 0) / 1000,
      },
      {
        name: "stoa_fsck_duration_seconds",
        help: "How long the last complete run of stoa fsck took; NaN before the first.",
        read: () => this.#run && this.#run.durationMs / 1000,
      },
      {
        name: "stoa_fsck_findings",
        help: "How many findings the last run of stoa fsck has left without repair; NaN before the first.",
        read: () => this.#run && this.#left,
      },
    ];
  }

  /** How many findings are not repaired. */
  get #left(): number {
    return this.#run === undefined ? 0 : this.#run.findings - this.#run.repaired;
  }
}
