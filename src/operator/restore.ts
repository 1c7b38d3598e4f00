import { exitStatus } from "../cli/command.ts";
import { Alarm } from "../ledger/verification/alarm.ts";
import { type Verified, verifyFrom } from "../ledger/verification/verification.ts";
import { chainStart } from "../receipt/verify.ts";
import { restoreBackup } from "../store/backup/restore-backup.ts";
import type { Database } from "../store/database/database.ts";
import { schemaState } from "../store/schema/migration-records.ts";
import { describeBackup, fileOf } from "./backup.ts";
import { withBackup } from "./backup-file.ts";
import { commonHelp, type OperatorCommand } from "./command.ts";
import { withDatabase } from "./database.ts";
import { silentLog } from "./seal-clock.ts";

const help = `Usage: npm run stoa -- restore FILE

Restores a backup into an empty database, then verifies its ledger. The service must not run. FILE is read to its end
before anything is written: a file that was cut off or changed is refused. A restore that failed can be run again. Until
one succeeds, no service starts on the database. Then run recover --log. The programs mariadb or mysql run the statements.

${commonHelp}`;

export const restore: OperatorCommand = {
  name: "restore",
  summary: "fill an empty database from a backup; the service must not run",
  help,
  async run(args, context) {
    const { signal, out } = context;
    const file = fileOf(args, context);
    return withBackup(file, signal, ({ header, content }) =>
      withDatabase(context, { mode: "alone", writes: true, connections: 2 }, async (db, addresses) => {
        await restoreBackup({ ...addresses, header, content: content(), db, signal });
        out(`restored ${file}: ${describeBackup(header)}`);
        const { finding, count } = await verifyRestored(db, signal);
        const isSound = finding === undefined;
        if (isSound) out(`the ledger verifies: receipts 1 to ${count}`);
        else out(`the ledger does not verify, as when the backup was made: receipt ${finding.seq}: ${finding.message}`);
        out("now run recover --log: until then no log goes on or begins, and without a log no day is sealed");
        return isSound ? exitStatus.done : exitStatus.found;
      }),
    );
  },
};

/** Verifies the ledger. The result replaces the alarm from the backup, so the service starts with a current one. */
async function verifyRestored(db: Database, signal: AbortSignal): Promise<Verified> {
  const reader = db.longReader(signal);
  // A backup of an older version may lack the table for the result. The service then verifies at its start.
  if ((await schemaState(db, signal)).kind !== "current") return verifyFrom(reader, chainStart);
  const alarm = new Alarm(db, Date.now, silentLog);
  const prior = await alarm.refresh(reader);
  const { finding, link, count } = await verifyFrom(reader, chainStart);
  await alarm.record({ finding, link, isWhole: true, prior });
  return { finding, link, count };
}
