import { verifyFrom } from "../ledger/verification.ts";
import { chainStart } from "../receipt/verify.ts";
import { restoreBackup } from "../store/backup/restore-backup.ts";
import { describeBackup, fileOf } from "./backup.ts";
import { checkBackup, readLines } from "./backup-file.ts";
import { commonHelp, exitStatus, type OperatorCommand } from "./command.ts";
import { withDatabase } from "./database.ts";

const help = `Usage: stoa restore FILE

Restores a backup into an empty database, then verifies its ledger. The service must not run. FILE is read to its end before
anything is written: one that was cut off or changed is refused. A restore that failed can be run again; until one succeeds
no service starts on the database. The backup may come from the other engine (MariaDB, MySQL).

${commonHelp}`;

/** Fills an empty database from a file. */
export const restore: OperatorCommand = {
  name: "restore",
  summary: "fill an empty database from a backup; the service must not run",
  help,
  async run(args, context) {
    const { signal, out } = context;
    const file = fileOf(args, context);
    const { header } = await checkBackup(file, signal);
    return withDatabase(context, { mode: "alone", connections: 2 }, async (db, addresses) => {
      await restoreBackup({ ...addresses, header, lines: readLines(file, signal), db, signal });
      out(`restored ${file}: ${describeBackup(header)}`);
      const { finding, count } = await verifyFrom(db.longReader(signal), chainStart);
      if (finding === undefined) {
        out(`the ledger verifies: receipts 1 to ${count}`);
        return exitStatus.done;
      }
      out(
        `the ledger does not verify, as it did not when the backup was made: receipt ${finding.seq}: ${finding.message}`,
      );
      return exitStatus.found;
    });
  },
};
