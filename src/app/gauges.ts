import { listErasures } from "../board/moderation/erasure.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { GaugeSource } from "../metrics/metrics.ts";
import type { FreeSpace } from "../private-database/free-space.ts";
import type { Database } from "../store/database/database.ts";
import type { Warnings } from "../warnings.ts";

/** How long the database may take to list erasures, in milliseconds. */
const erasuresTimeoutMs = 1_000;

function gaugesOfProcess(ledger: Ledger, db: Database): GaugeSource[] {
  return [
    {
      name: "stoa_database_connections_in_use",
      help: "Connections that a call uses.",
      read: () => db.load.inUse,
    },
    {
      name: "stoa_database_calls_waiting",
      help: "Calls that wait for a connection.",
      read: () => db.load.waiting,
    },
    {
      name: "stoa_database_retries_total",
      help: "Attempts that were repeated, by cause: conflict, commit (which got no answer) or server (which was lost).",
      label: "cause",
      isCounter: true,
      read: () => db.retries,
    },
    {
      name: "stoa_ledger_verified_timestamp_seconds",
      help: "When this process last verified the whole ledger, or found that it does not verify; NaN before.",
      read: () => ledger.verifier.verifiedAt && ledger.verifier.verifiedAt / 1000,
    },
  ];
}

export function gaugesOf(
  ledger: Ledger,
  db: Database,
  warnings: Warnings,
  space: FreeSpace | undefined,
): GaugeSource[] {
  return [
    // These come first: gauges that query the database would be counted in the connections in use.
    ...gaugesOfProcess(ledger, db),
    { name: "stoa_ledger_head_seq", help: "The seq of the newest receipt.", read: () => ledger.receipts.headSeq() },
    {
      name: "stoa_ledger_alarm",
      help: "1 after a verification of the ledger fails, until a verification of the whole ledger succeeds; else 0.",
      read: () => (ledger.verifier.alarm.text === undefined ? 0 : 1),
    },
    {
      name: "stoa_warning",
      help: "1 while the warning of this name is part of the warning of /readyz; else 0.",
      label: "name",
      read: () => warnings.states,
    },
    {
      name: "stoa_unfinished_erasures",
      help: "Agents that are erased, and whose content or traces are still to be removed; at most 1000.",
      read: async () => (await listErasures(db.reader(AbortSignal.timeout(erasuresTimeoutMs)))).length,
    },
    ...(space === undefined ? [] : gaugesOfSpace(space)),
  ];
}

function gaugesOfSpace(space: FreeSpace): GaugeSource[] {
  return [
    {
      name: "stoa_disk_free_bytes",
      help: "Free space on the disk of the private database.",
      read: () => space.freeBytes,
    },
    {
      name: "stoa_disk_min_free_bytes",
      help: "Writes are refused while the disk of the private database has less free space than this.",
      read: () => space.minFreeBytes,
    },
  ];
}
