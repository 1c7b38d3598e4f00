import { randomUUID } from "node:crypto";
import { sleep } from "../../timing/wait.ts";
import type { Database } from "../database/database.ts";

/*
 * One process at a time holds the row of schema_lease, and renews it while it works. When it dies, its lease expires, and
 * another process takes over. A living holder can lose its lease too: while Galera changes a table, it blocks all writes, and
 * so the renewals. Therefore a migration renews the lease before each statement, and stops if it has lost it.
 */

const leaseSeconds = 15;
/** How often a waiting process checks whether the lease is free, in milliseconds. */
const pollMs = 100;
/** When the log first says that the process waits, and how often after that, in milliseconds. */
const firstLogMs = 1_000;
const logIntervalMs = 5_000;

/** Another process has taken the lease, because it was not renewed in time. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/**
 * Runs `work` while this process holds the lease.
 * @param work calls `renewed` before each of its steps, which throws LeaseLost if another process holds the lease
 * @throws the signal's reason; what `work` throws
 */
export async function holdLease<Result>(
  db: Database,
  signal: AbortSignal,
  log: (line: string) => void,
  work: (renewed: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const holder = randomUUID();
  await acquire(db, signal, holder, log);
  const renewal = setInterval(
    () => {
      // If the database fails, the statements of the work fail too.
      renew(db, signal, holder).catch(() => {});
    },
    (leaseSeconds * 1000) / 3,
  );
  try {
    return await work(async () => {
      if (!(await renew(db, signal, holder))) throw new LeaseLost("another replica migrates the database");
    });
  } finally {
    clearInterval(renewal);
    // After an abort no statement can run. The lease then expires by itself.
    if (!signal.aborted) {
      await write(db, signal, "UPDATE schema_lease SET holder = '', expires_at = 0 WHERE id = 1 AND holder = ?", [
        holder,
      ]);
    }
  }
}

/**
 * Waits for the lease. A lease also counts as expired if it has not changed for `leaseSeconds`, even if its time lies in the
 * future: the database's clock may have been wrong when it was taken.
 */
async function acquire(db: Database, signal: AbortSignal, holder: string, log: (line: string) => void): Promise<void> {
  let seen: { holder: string; expires_at: number; since: number } | undefined;
  let logAt = performance.now() + firstLogMs;
  for (;;) {
    const { affectedRows } = await write(
      db,
      signal,
      `UPDATE schema_lease SET holder = ?, expires_at = UNIX_TIMESTAMP() + ${leaseSeconds}
       WHERE id = 1 AND (expires_at < UNIX_TIMESTAMP() OR (holder = ? AND expires_at = ?))`,
      [holder, ...(seen !== undefined && isDead(seen.since) ? [seen.holder, seen.expires_at] : ["", -1])],
    );
    if (affectedRows === 1) return;
    const [lease] = await db
      .reader(signal)
      .rows<{ holder: string; expires_at: number }>("SELECT holder, expires_at FROM schema_lease WHERE id = 1");
    if (lease !== undefined && (lease.holder !== seen?.holder || lease.expires_at !== seen.expires_at)) {
      seen = { ...lease, since: performance.now() };
    }
    if (performance.now() >= logAt) {
      logAt = performance.now() + logIntervalMs;
      log(
        "waiting for another replica that migrates the database; if that replica died, its lease expires within" +
          ` ${leaseSeconds} s`,
      );
    }
    await sleep(pollMs);
  }
}

function isDead(since: number): boolean {
  return performance.now() - since > leaseSeconds * 1000;
}

/** @returns whether the lease is still that of `holder` */
async function renew(db: Database, signal: AbortSignal, holder: string): Promise<boolean> {
  const { affectedRows } = await write(
    db,
    signal,
    `UPDATE schema_lease SET expires_at = UNIX_TIMESTAMP() + ${leaseSeconds} WHERE id = 1 AND holder = ?`,
    [holder],
  );
  return affectedRows === 1;
}

/** Runs one statement in a transaction of its own. */
export function write(db: Database, signal: AbortSignal, sql: string, params: (string | number)[]) {
  return db.transaction(signal, (tx) => tx.run(sql, params));
}
