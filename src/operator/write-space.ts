import type { Config } from "../config/config.ts";
import { StoaError } from "../errors.ts";
import { databaseIn } from "../private-database/data-folder.ts";
import { FreeSpace } from "../private-database/free-space.ts";

/**
 * Runs `work`, which writes, and meanwhile watches the disk of a private database as the service does.
 * @param work must call `refusal` before each write: it returns why nothing may be written now
 * @throws StoaError `unavailable` when there is too little space at the start; the errors of `work`
 */
export async function withSpace<Result>(
  { config, note }: { config: Config; note(line: string): void },
  work: (refusal: () => StoaError | undefined) => Promise<Result>,
): Promise<Result> {
  const { database, dataDir, minFreeMiB } = config;
  if (database !== undefined || minFreeMiB === "off") return work(() => undefined);
  const folder = databaseIn(dataDir);
  const space = await FreeSpace.watch({ folder, minFreeMiB, log: { warn: note, info: note } });
  const refusal = () => (space.isLow ? tooFull() : undefined);
  try {
    const refused = refusal();
    if (refused !== undefined) throw refused;
    return await work(refusal);
  } finally {
    space.stop();
  }
}

function tooFull(): StoaError {
  const message = "Nothing is written while the disk is almost full. Free some space and run the command again.";
  return new StoaError("unavailable", message);
}
