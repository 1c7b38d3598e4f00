import { resolve } from "node:path";
import { describeFinding, type Outcome, recountBoard } from "../board/recount/recount.ts";
import { exitStatus } from "../cli/command.ts";
import { parseOptions } from "../cli/usage.ts";
import { checkLedger } from "../ledger/fsck/ledger-check.ts";
import { checkModerations } from "../ledger/fsck/moderation-check.ts";
import { checkLog } from "../log/fsck/log-check.ts";
import type { Database } from "../store/database/database.ts";
import { checkOneRowTables } from "../store/recount/one-row-tables.ts";
import { newestPostTime } from "../store/recount/posts.ts";
import { checkReplies } from "../store/recount/replies.ts";
import { checkSchema } from "../store/schema/schema-check.ts";
import { type FsckKind, type FsckRun, putLastFsck } from "../store/tables/last-fsck.ts";
import { commonHelp, type OperatorCommand, type OperatorContext } from "./command.ts";
import { checkMigrated, withDatabase } from "./database.ts";
import { withSpace } from "./write-space.ts";

/** One connection reads through a table; meanwhile the others look up related rows and repair. */
const connections = 4;

const help = `Usage: npm run stoa -- fsck [--repair] [--json]

Checks that the whole database is consistent: every counter against the rows that it counts, rows whose parent is
missing, the items of inboxes and the rows of search against the texts, every stored response, every receipt, the head,
the calendar, the index tables of the ledger and its alarm against the receipts, the record of moderation against the
daily receipts, the board's log and every text against its commitment there, the log folder in STOA_DATA_DIR if it can be
read, the schema and its triggers. A check that is impossible because the schema lacks something is a finding.
Services may run meanwhile.

Options:
  --repair  correct what follows from other rows: counters, computed columns, items of inboxes, rows of search, the
            index tables of the ledger, the calendar, the alarm, triggers, tiles of the log, texts that are not in the log.
            Votes, comments, posts and receipts are never changed
  --json    print one JSON object for each finding: subject, key, problem, stored, counted, repaired; then one with
            ok, findings, repaired, duration_ms
  -h, --help    print this

Exit status:
  0  there is no finding, or all of them are repaired
  1  there are findings; each is one line
  2  the arguments or the settings cannot be used
  3  the database could not be read

${commonHelp}`;

export const fsck: OperatorCommand = {
  name: "fsck",
  summary: "check that the whole database is consistent; repair it",
  help,
  async run(args, context) {
    const values = parseOptions(args, {
      json: { type: "boolean", default: false },
      repair: { type: "boolean", default: false },
    });
    return withDatabase(context, { writes: values.repair, connections }, (db) => check(db, context, values));
  },
};

async function check(
  db: Database,
  context: OperatorContext,
  { json, repair }: { json: boolean; repair: boolean },
): Promise<number> {
  const { config, signal, out, note } = context;
  const begun = performance.now();
  await checkMigrated(db, signal, { mayLack: true });
  const print = json ? jsonLine : humanLine;
  const total = { findings: 0, repaired: 0 };
  const kinds: Record<string, FsckKind> = {};
  const options = { triggers: config.ledgerTriggers, folder: resolve(config.dataDir, "log"), note };
  for await (const outcome of checkAll(db, signal, repair, options)) {
    kinds[outcome.finding.subject] ??= { findings: 0, repaired: 0 };
    for (const count of [total, kinds[outcome.finding.subject] as FsckKind]) {
      count.findings += 1;
      if (outcome.repaired) count.repaired += 1;
    }
    out(print(outcome, repair));
  }
  const { findings, repaired } = total;
  const ok = findings === repaired;
  const durationMs = Math.round(performance.now() - begun);
  await record(db, context, { endedAt: Date.now(), durationMs, ...total, kinds });
  if (json) out(JSON.stringify({ ok, findings, repaired, duration_ms: durationMs }));
  else note(`${findings} findings, ${repaired} repaired, in ${(durationMs / 1000).toFixed(1)} s`);
  return ok ? exitStatus.done : exitStatus.found;
}

/** Records the run, which services show. If the account may only read, this only prints a note. */
async function record(db: Database, context: OperatorContext, run: FsckRun): Promise<void> {
  const { signal, note } = context;
  try {
    await withSpace(context, () => db.transaction(signal, (tx) => putLastFsck(tx, run)));
  } catch (error) {
    signal.throwIfAborted();
    note(`this run is not recorded, so services do not show it: ${(error as Error).message}`);
  }
}

async function* checkAll(
  db: Database,
  signal: AbortSignal,
  repair: boolean,
  { folder, ...schema }: { triggers: boolean; folder: string; note: (line: string) => void },
): AsyncGenerator<Outcome, void> {
  const reader = db.longReader(signal);
  yield* checkSchema(db, signal, repair, schema);
  // If this clock is behind the service's, the newest post would lie in its future.
  const newest = await newestPostTime(reader);
  const now = () => Math.max(Date.now(), newest);
  yield* recountBoard(reader, now, signal, repair ? db : undefined);
  yield* checkReplies(reader, signal, repair ? db : undefined);
  yield* checkOneRowTables(reader);
  yield* checkLedger(reader, signal, repair ? db : undefined);
  yield* checkModerations(reader);
  yield* checkLog(reader, signal, { folder, now, note: schema.note }, repair ? db : undefined);
}

function humanLine({ finding, repaired }: Outcome, repair: boolean): string {
  const outcome = repaired ? "; repaired" : repair ? "; not repaired" : "";
  return `${describeFinding(finding)}${outcome}`;
}

function jsonLine({ finding: { subject, key, problem, wrong }, repaired }: Outcome): string {
  return JSON.stringify({ subject, key, problem, stored: wrong?.stored, counted: wrong?.counted, repaired });
}
