import { statSync } from "node:fs";
import { resolve } from "node:path";
import { exitStatus } from "../cli/command.ts";
import { parseArguments, UsageError } from "../cli/usage.ts";
import { writeWhole } from "../process/whole-file.ts";
import { type BackupSummary, writeBackup } from "../store/backup/write-backup.ts";
import { commonHelp, type OperatorCommand, type OperatorContext } from "./command.ts";
import { withAddresses } from "./database.ts";

const help = `Usage: npm run stoa -- backup FILE

Writes the whole database to FILE, as it is at one moment, by mariadb-dump or mysqldump. The service may run meanwhile.
FILE is SQL text that only its owner may read. It appears when it is complete. Its header names the engine, the schema and
the newest receipt; its end has a checksum.

${commonHelp}`;

export const backup: OperatorCommand = {
  name: "backup",
  summary: "write the whole database to a file; the service may run",
  help,
  async run(args, context) {
    const { signal, note, out } = context;
    const file = fileOf(args, context);
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) throw new Error(`${file} is not a file`);
    const { header, foreign } = await withAddresses(context, "beside", ({ serving }) =>
      writeWhole(file, (write) => writeBackup({ address: serving, signal, now: new Date(), write })),
    );
    for (const name of foreign) note(`the table ${name} is not Stoa's and is not in the backup`);
    out(`wrote ${Math.ceil(statSync(file).size / 1024)} KiB to ${file}: ${describeBackup(header)}`);
    return exitStatus.done;
  },
};

export function describeBackup({ head, engine, schema }: BackupSummary["header"]): string {
  return `up to receipt ${head.seq} (${head.hash}), schema ${schema.at(-1)?.name ?? "none"}, from ${engine}`;
}

/** The path in the only argument. A relative path starts in the user's folder, not where npm runs the command. */
export function fileOf(args: string[], { folder }: OperatorContext): string {
  const { positionals } = parseArguments(args, {});
  const [file, ...more] = positionals;
  if (file === undefined || file === "") throw new UsageError("the FILE is missing");
  if (more.length > 0) throw new UsageError("there is more than one FILE");
  return resolve(folder, file);
}
