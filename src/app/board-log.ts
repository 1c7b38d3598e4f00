import { join } from "node:path";
import type { Board } from "../board/board.ts";
import type { Config } from "../config/config.ts";
import { parseOrigin } from "../config/values.ts";
import { BoardLog } from "../log/board-log.ts";
import { importRowsLeft } from "../log/import.ts";
import { makeKey, readKey, writeKeyFile } from "../log/key-file.ts";
import type { GaugeSource } from "../metrics/metrics.ts";
import { KeptFolder } from "../process/kept-folder.ts";
import type { Database } from "../store/database/database.ts";
import { readLogHead } from "../store/tables/log-head.ts";
import type { SignerKey } from "../tlog/notes/signer-key.ts";
import type { Startup } from "./startup.ts";

function logFolder({ dataDir }: Pick<Config, "dataDir">): string {
  return join(dataDir, "log");
}

/**
 * Opens the log of the board, or begins it.
 * @param board is told when the log begins; its writes add entries from then on
 * @param siteUrl the public root address
 * @throws Error with one line if the key or the origin cannot be used, or is not that of the log
 */
export async function openBoardLog(
  { config, overrides, log, shutdown, warnings }: Startup,
  db: Database,
  board: Board,
  siteUrl: string,
): Promise<BoardLog> {
  const { mayBegin, origin } = config.boardLog;
  const isPrivate = config.database === undefined;
  const boardLog = await BoardLog.open(
    {
      db,
      path: logFolder(config),
      now: () => board.now(),
      log,
      origin,
      key: await readKey(logFolder(config), config.boardLog.keyText),
      makeKey: isPrivate ? () => storeNewKey(config, origin ?? originOf(siteUrl)) : undefined,
      mayBegin,
      hasReplicas: !isPrivate,
      onLog: (from) => {
        board.logBeginsAt = from;
      },
      lookMs: overrides.logLookMs,
    },
    shutdown.signal,
  );
  shutdown.push(() => boardLog.stop(), "the log");
  warnings.add("log", () => boardLog.warning);
  return boardLog;
}

export function gaugesOfLog(boardLog: BoardLog, db: Database, signal: AbortSignal): GaugeSource[] {
  return [
    {
      name: "stoa_log_size",
      help: "How many entries the log has in the database; NaN while there is no log.",
      read: async () => boardLog.current && (await readLogHead(db.priority.reader(signal))).size,
    },
    {
      name: "stoa_log_published_size",
      help: "How many entries the checkpoint has that this replica serves; NaN while there is no log.",
      read: () => boardLog.current?.publisher.published.size,
    },
    {
      name: "stoa_log_outbox_oldest_seconds",
      help: "For how long the oldest entry that the log does not have yet has waited, since this process saw it; 0 if there is none.",
      read: () => boardLog.outboxAge,
    },
    {
      name: "stoa_log_import_rows_left",
      help: "How many rows from before the log are still to import, at most; NaN while there is no log.",
      read: async () => boardLog.current && importRowsLeft(db.priority.reader(signal)),
    },
  ];
}

async function storeNewKey(config: Config, origin: string): Promise<SignerKey> {
  const folder = new KeptFolder(logFolder(config));
  const owner = await folder.make();
  const key = await makeKey(origin);
  await writeKeyFile(join(folder.path, "key"), key, owner);
  return key;
}

/** The default name of a new log, made of the site's address. @throws Error with one line */
function originOf(siteUrl: string): string {
  try {
    return parseOrigin(`${new URL(siteUrl).host}/log`);
  } catch {
    throw new Error(`STOA_LOG_ORIGIN is missing: the address ${siteUrl} is too long for the name of a log.`);
  }
}
