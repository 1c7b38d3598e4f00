import { join } from "node:path";
import { operateWith } from "../../operator/support.ts";
import { type Fault, fine } from "../fault.ts";
import { operatorToken, type Stage } from "../stage.ts";

export const dumpRestored: Fault = {
  name: "Restored old backup",
  done: "A backup is made, then a session is sealed, then the backup is restored. `stoa recover` ends the fault.",
  seen: "Everything written after the backup is lost. The board keeps running. Until `stoa recover` publishes what was abandoned, nothing is sealed (`unavailable`), and /readyz has a warning.",
  during: { read: [0, 503, ...fine.read], write: [0, 503, ...fine.write], ready: [0, 503, ...fine.ready] },
  open: (stage) => stage.openBehindRelay(),
  async harm(stage, load) {
    // The load stops first, so that it is known what the restore loses.
    await load.stop();
    const file = join(stage.folder(), "backup.sql");
    const wrong = expectStatus("backup", await run(stage, "backup", file));
    if (!(await seal(stage, "lost")).ok) wrong.push("nothing could be sealed before the restore");
    await stage.service.end("SIGTERM");
    await stage.withDatabase(async (db) => {
      await db.rows(`DROP DATABASE ${db.config.database}`);
      await db.rows(`CREATE DATABASE ${db.config.database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
    });
    wrong.push(...expectStatus("restore", await run(stage, "restore", file)));
    await stage.service.startAgain();
    wrong.push(...(await stage.expectWarning(/./)));
    const refused = await seal(stage, "refused");
    if (refused.status !== 503) wrong.push(`a seal: ${refused.status}`);
    return wrong;
  },
  async mend(stage) {
    const { out, notes } = await run(stage, "recover");
    const [, head] = /recover --abandon (\S+) --note/.exec(out.at(-1) as string) ?? [];
    if (head === undefined) throw new Error(`recover names no receipt: ${[...out, ...notes].join(" ")}`);
    const { status } = await run(stage, "recover", "--abandon", head, "--note", "An old backup was restored.");
    if (status !== 0) throw new Error(`recover: exit status ${status}`);
    await stage.untilNoWarning();
  },
};

type Outcome = Awaited<ReturnType<typeof operateWith>>;

function run({ settings }: Stage, ...args: [string, ...string[]]): Promise<Outcome> {
  const { STOA_DATABASE_URL = "", STOA_DATA_DIR = "" } = settings;
  return operateWith({ STOA_DATABASE_URL, STOA_DATA_DIR }, args);
}

function expectStatus(what: string, { status, notes }: Outcome): string[] {
  return status === 0 ? [] : [`${what}: exit status ${status}: ${notes.join(" ")}`];
}

/** Seals a session over Connect. */
function seal({ url }: Stage, book: string): Promise<Response> {
  return fetch(`${url}/stoa.v1.LedgerOperatorService/SealSession`, {
    method: "POST",
    headers: { authorization: `Bearer ${operatorToken}`, "content-type": "application/json" },
    body: JSON.stringify({ book, session: "2026-01-05", source: "feed:faults" }),
  });
}
