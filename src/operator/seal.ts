import { exitStatus } from "../cli/command.ts";
import { parseOptions } from "../cli/usage.ts";
import type { Config } from "../config/config.ts";
import { dateOf, dayMs, startOf } from "../ledger/calendar.ts";
import { headFolder } from "../ledger/head-guard/head-folder.ts";
import { describeMissingHeads } from "../ledger/head-guard/missing-heads.ts";
import { LedgerRecovery } from "../ledger/head-guard/recovery.ts";
import { Ledger } from "../ledger/ledger.ts";
import { checkOver } from "../ledger/sealing/day.ts";
import { dueDays } from "../ledger/sealing/day-sealer.ts";
import { type SealCheck, SealChecks } from "../ledger/sealing/seal-checks.ts";
import type { Database } from "../store/database/database.ts";
import { readCalendar } from "../store/tables/seals.ts";
import { commonHelp, type OperatorCommand, type OperatorContext } from "./command.ts";
import { checkMigrated, withDatabase } from "./database.ts";
import { sealClock, silentLog } from "./seal-clock.ts";

const help = `Usage: npm run stoa -- seal [--catch-up] [--through DATE]

Lists the days that would be sealed, and says whether anything blocks sealing. With --catch-up the command seals them,
however many they are. By this you confirm that the clock is right and that these days have passed. The service may run.
A clock that differs from the database's by more than 60 s blocks --catch-up too.

  --catch-up      seal the missed days, even if the newest receipt's time is ahead of the clock
  --through DATE  the last day to seal, YYYY-MM-DD (default: yesterday, UTC)

${commonHelp}`;

export const seal: OperatorCommand = {
  name: "seal",
  summary: "list the missed days that are not sealed; --catch-up seals them",
  help,
  async run(args, context) {
    const values = parseOptions(args, { "catch-up": { type: "boolean" }, through: { type: "string" } });
    const timeoutMs = context.config.databaseTimeoutMs;
    const writes = values["catch-up"] === true;
    return withDatabase(context, { writes, connections: 4, timeoutMs }, (db) => sealMissed(db, context, values));
  },
};

async function sealMissed(
  db: Database,
  { config, signal, out, note }: OperatorContext,
  { through, "catch-up": catchUp = false }: { through?: string; "catch-up"?: boolean },
): Promise<number> {
  await checkMigrated(db, signal);
  const calendar = await readCalendar(db.reader(signal));
  if (calendar === undefined) throw new Error("the database has no ledger yet; start the service first");
  const { clock, check } = sealClock(db);
  const sealChecks = new SealChecks();
  sealChecks.add(check);
  sealChecks.add(headCheck(db, config, note));
  const ledger = await Ledger.open({ db, now: clock.now, log: silentLog, sealChecks, signal });
  const last = through ?? dateOf(clock.now() - dayMs);

  if (catchUp) {
    const { dates, newest } = await ledger.days.sealMissed(signal, last);
    out(`sealed: ${describeDays(dates)}`);
    if (newest !== undefined) out(`the newest receipt is ${newest.seq} (${newest.hash})`);
    return exitStatus.done;
  }
  checkOver(last, clock.now());
  const days = await dueDays(db.longReader(signal), calendar.first_day, dateOf(startOf(last) + dayMs));
  out(`to be sealed: ${describeDays(days)}`);
  const reason = await ledger.sealer.blockReason(signal);
  if (reason === undefined) return exitStatus.done;
  note(reason);
  return exitStatus.found;
}

/** Checks the chain against the head files, as `HeadGuard` does, but never writes them: the service does. */
function headCheck(db: Database, config: Config, warn: (line: string) => void): SealCheck {
  const recovery = new LedgerRecovery({ db, folder: headFolder(config), now: Date.now, warn });
  return async (signal) => {
    const { damage, head, missing } = await recovery.inspect(signal);
    return damage ?? (missing.length === 0 ? undefined : describeMissingHeads(missing, head));
  };
}

function describeDays(dates: readonly string[]): string {
  if (dates.length === 0) return "no day";
  if (dates.length === 1) return `1 day, ${dates[0]}`;
  return `${dates.length} days, ${dates[0]} to ${dates.at(-1)}`;
}
