import { exitStatus } from "../cli/command.ts";
import { parseOptions, UsageError } from "../cli/usage.ts";
import { headFolder } from "../ledger/head-guard/head-folder.ts";
import { newestMissing } from "../ledger/head-guard/missing-heads.ts";
import { type Inspection, LedgerRecovery } from "../ledger/head-guard/recovery.ts";
import { SealChecks } from "../ledger/sealing/seal-checks.ts";
import type { Head } from "../receipt/recovery.ts";
import { beginLogAnew } from "./begin-log-anew.ts";
import { commonHelp, type OperatorCommand, type OperatorContext } from "./command.ts";
import { checkMigrated, withDatabase } from "./database.ts";
import { runLogRecovery } from "./recover-log.ts";
import { sealClock } from "./seal-clock.ts";

const help = `Usage: npm run stoa -- recover [--abandon SEQ:HASH --note TEXT]
       npm run stoa -- recover --log [--from DIR|URL] [--as-is] [--begin-anew ORIGIN] [--json]

Compares the ledger in the database with the newest receipt that this replica has served. The replica remembers that
receipt in its data folder. A database that was restored from a backup may have lost receipts that were served; the
service then seals nothing.

Without options the command reports what it finds, and changes nothing. The exit status is 1 if a receipt is lost.

  --abandon SEQ:HASH  the newest receipt that was served and is lost, as the command without options names it. This seals
                      a receipt of type recovery, which names the lost receipt for good; the ledger continues after it
  --note TEXT         what happened, for everybody who verifies the ledger: up to 1,000 characters

With --log it compares the log in the database with the newest checkpoint in the log folder of this replica. Entries that are
lost are put back, and one more says so; the log then goes on. The service of this data folder must not run. If the backup is
from before the log, this replica needs the log's key, or its own log folder.

  --from DIR|URL      look also at the log folder of another replica, at a mirror of the log (stoa mirror), or at a log that is
                      served: the address of a replica with /log after it
  --as-is             go on although this log folder is older than the database, damaged or lost: your word that no newer
                      checkpoint was published, or, if the database has no log, that there never was one
  --begin-anew ORIGIN end this log, whose entries or key are lost or whose key was stolen, and begin another one with this
                      name. Everything that stands is added to it. First make its key (stoa keygen), put it in the place of
                      the old one, and stop all replicas. This cannot be undone
  --json              print one JSON object: ok, size, source, from, to. The log has \`size\` entries, and those from \`from\` to
                      before \`to\` were put back from \`source\`. With --begin-anew: ok, origin, vkey, previous (origin, size)

Exit status with --log:
  0  the log goes on
  2  the arguments or the settings cannot be used
  3  it could not be done: the message says why

${commonHelp}`;

/** How long one statement may take, in milliseconds. */
const timeoutMs = 60_000;

export const recover: OperatorCommand = {
  name: "recover",
  summary: "check whether the ledger has lost receipts; continue without them",
  help,
  async run(args, context) {
    const options = parseOptions(args, {
      abandon: { type: "string" },
      note: { type: "string" },
      log: { type: "boolean" },
      from: { type: "string" },
      "as-is": { type: "boolean" },
      "begin-anew": { type: "string" },
      json: { type: "boolean", default: false },
    });
    const { abandon, note, log = false, from, "as-is": asIs = false, "begin-anew": anew, json } = options;
    if (log && (abandon ?? note) !== undefined) throw new UsageError("--log goes without --abandon and --note");
    if (!log && (from !== undefined || asIs || anew !== undefined || json)) {
      throw new UsageError("--from, --as-is, --begin-anew and --json need --log");
    }
    if (anew !== undefined && (from !== undefined || asIs))
      throw new UsageError("--begin-anew goes without other options");
    if (anew !== undefined) return beginLogAnew(context, anew, json);
    if (log) return runLogRecovery(context, { from, asIs, json });
    if ((abandon === undefined) !== (note === undefined)) throw new UsageError("--abandon and --note go together");
    const abandoned = abandon === undefined ? undefined : parseHead(abandon);
    const writes = abandoned !== undefined;
    return withDatabase(context, { writes, connections: 2, timeoutMs }, async (db) => {
      const { config, note: warn, signal } = context;
      await checkMigrated(db, signal);
      const sealChecks = new SealChecks();
      const { clock, check } = sealClock(db, true);
      sealChecks.add(check);
      const recovery = new LedgerRecovery({ db, folder: headFolder(config), now: clock.now, sealChecks, warn });
      if (abandoned === undefined || note === undefined) return report(await recovery.inspect(signal), context);
      const { seq, hash } = await recovery.seal(signal, { abandoned, note });
      context.out(`sealed receipt ${seq}, a recovery that abandons receipt ${abandoned.seq}: hash ${hash}`);
      return exitStatus.done;
    });
  },
};

function parseHead(text: string): Head {
  const [, seq, hash] = /^([1-9]\d{0,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (seq === undefined || hash === undefined || !Number.isSafeInteger(Number(seq))) {
    throw new UsageError("--abandon must be the number of a receipt, a colon and its hash of 64 characters");
  }
  return { seq: Number(seq), hash };
}

function report({ head, remembered, missing, damage }: Inspection, { out }: OperatorContext): number {
  out(`The ledger in the database ends at receipt ${head.seq}, hash ${head.hash}.`);
  if (damage !== undefined) out(damage);
  if (remembered === undefined) out("This data folder remembers no served receipt.");
  else if (missing.length === 0) out(describeRemembered(remembered));
  for (const { head, kind } of missing) {
    const where = kind === "truncated" ? "is missing" : "differs from the one in the database";
    out(`Receipt ${head.seq}, hash ${head.hash}, was served and ${where}.`);
  }
  if (missing.length === 0) return damage === undefined ? exitStatus.done : exitStatus.found;
  const { seq, hash } = newestMissing(missing).head;
  out(
    "If a database with this receipt still exists, use that one. Otherwise let the ledger continue without it; this cannot be undone:",
  );
  out(`  npm run stoa -- recover --abandon ${seq}:${hash} --note 'what happened'`);
  return exitStatus.found;
}

/** Describes a remembered receipt that is in the chain, or that a recovery in the chain accounts for. */
function describeRemembered({ seq, isInChain }: NonNullable<Inspection["remembered"]>): string {
  if (isInChain) return `It has receipt ${seq}, the newest that this replica remembers.`;
  return `A recovery in it accounts for receipt ${seq}, the newest that this replica remembers.`;
}
