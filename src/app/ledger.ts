import { headFolder } from "../ledger/head-guard/head-folder.ts";
import { HeadGuard } from "../ledger/head-guard/head-guard.ts";
import { Ledger } from "../ledger/ledger.ts";
import type { ServiceDatabase } from "./database.ts";
import type { Startup } from "./startup.ts";

/**
 * Opens the ledger with its head guard. The very first start seals receipt 1.
 * @param now milliseconds since 1970 (UTC)
 * @throws what `Ledger.open` throws
 */
export async function openLedger(
  { config, overrides, log, shutdown, warnings, sealChecks }: Startup,
  { db, address }: Pick<ServiceDatabase, "db" | "address">,
  now: () => number,
): Promise<Ledger> {
  const { guardLookMs: lookMs, guardStoreMs: storeMs } = overrides;
  const guard = new HeadGuard({ db, log, folder: headFolder(config), lookMs, storeMs });
  sealChecks.add(guard.check);
  warnings.add("guard", () => guard.warning);
  shutdown.push(() => guard.stop(), "the head guard");
  const ledger = await Ledger.open({
    db,
    address,
    now,
    log,
    sealChecks,
    guard,
    epoch: config.ledgerEpoch,
    maxWaitMs: overrides.verificationWaitMs,
    maxReportAgeMs: overrides.verificationAgeMs,
    signal: shutdown.signal,
  });
  warnings.add("ledger", () => ledger.verifier.alarm.text);
  return ledger;
}
