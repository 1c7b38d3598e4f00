import type { Queryable, Tx } from "../database/queryable.ts";
import { isCount, isTime } from "./one-row.ts";

/** A complete run of `stoa fsck`. */
export interface FsckRun {
  /** Milliseconds since 1970 (UTC). */
  endedAt: number;
  durationMs: number;
  findings: number;
  /** How many of the findings it has repaired. */
  repaired: number;
  /** The same for each kind of finding, such as `posts.upvotes`. There are about as many kinds as tables and columns. */
  kinds: Readonly<Record<string, FsckKind>>;
}

export interface FsckKind {
  findings: number;
  repaired: number;
}

/** The last run; undefined before the first, and where its row is damaged. */
export async function readLastFsck(db: Queryable): Promise<FsckRun | undefined> {
  const [row] = await db.rows<Omit<FsckRun, "kinds"> & { kinds: string }>(
    "SELECT ended_at AS endedAt, duration_ms AS durationMs, findings, repaired, kinds FROM last_fsck WHERE id = 1",
  );
  if (row === undefined) return undefined;
  const { endedAt, durationMs, findings, repaired, kinds } = row;
  const parsed = parseKinds(kinds);
  if (!isTime(endedAt) || ![durationMs, findings, repaired].every(isCount) || parsed === undefined) return undefined;
  return { endedAt, durationMs, findings, repaired, kinds: parsed };
}

function parseKinds(text: string): FsckRun["kinds"] | undefined {
  try {
    const kinds: FsckRun["kinds"] = JSON.parse(text);
    const isSound = Object.values(kinds).every((kind) => isCount(kind?.findings) && isCount(kind?.repaired));
    return isSound ? kinds : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces the last run. */
export async function putLastFsck(tx: Tx, run: FsckRun): Promise<void> {
  const values = [run.endedAt, run.durationMs, run.findings, run.repaired, JSON.stringify(run.kinds)];
  await tx.run(
    `INSERT INTO last_fsck (id, ended_at, duration_ms, findings, repaired, kinds) VALUES (1, ?, ?, ?, ?, ?)
     ON DUPLICATE KEY UPDATE ended_at = ?, duration_ms = ?, findings = ?, repaired = ?, kinds = ?`,
    [...values, ...values],
  );
}
