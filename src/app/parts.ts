import { Board } from "../board/board.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { BoardLog } from "../log/board-log.ts";
import type { GaugeSource } from "../metrics/metrics.ts";
import { startBackgroundWork } from "./background.ts";
import { gaugesOfLog, openBoardLog } from "./board-log.ts";
import { type ServiceTimes, startClock } from "./clock.ts";
import { openDatabase, type ServiceDatabase } from "./database.ts";
import { gaugesOf } from "./gauges.ts";
import { openLedger } from "./ledger.ts";
import { watchDatabase } from "./readiness.ts";
import type { Startup } from "./startup.ts";

/** The parts of the service behind its API. */
export interface Parts {
  database: ServiceDatabase;
  times: ServiceTimes;
  board: Board;
  ledger: Ledger;
  boardLog: BoardLog;
  /** All metrics except those of requests. */
  gauges: GaugeSource[];
}

/**
 * Prepares the database, the clock, the board, the ledger and the log, and starts the work in the background.
 * @param siteUrl the public root address
 */
export async function openParts(startup: Startup, siteUrl: string): Promise<Parts> {
  const database = await openDatabase(startup);
  const times = await startClock(startup, database.db);
  const board = new Board(database.db, times.now, times.expiryNow);
  const ledger = await openLedger(startup, database, times.now);
  const boardLog = await openBoardLog(startup, database.db, board, siteUrl);
  const lastFsck = await watchDatabase(startup, database, ledger);
  startBackgroundWork(startup, { board, ledger, now: times.now });
  const gauges = [
    ...gaugesOf(ledger, database.db, startup.warnings, database.space),
    ...times.gauges,
    ...gaugesOfLog(boardLog, database.db, startup.shutdown.signal),
    ...lastFsck.gauges,
  ];
  return { database, times, board, ledger, boardLog, gauges };
}
