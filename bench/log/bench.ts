// The cost of the board's log: the service with it and the service without, alternately, each on a database of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool, RowDataPacket } from "mysql2/promise";
import { makeKey, writeKeyFile } from "../../src/log/key-file.ts";
import { openBoard } from "../board.ts";
import { createCases, createTextCases } from "../cases.ts";
import type { Child } from "../child.ts";
import { openAdmin, startService } from "../environment.ts";
import { measureAll, median, type Sides } from "../measure.ts";
import { watch } from "../memory.ts";
import { choose } from "../options.ts";
import { handWritten } from "../protocols.ts";
import { type Report, reportComparison } from "../report.ts";
import type { Run } from "../run.ts";
import { ensureSeed } from "../seed.ts";
import { measurePublished } from "./published.ts";

/** The minimum throughput with the log, as a share of that without: of what adds entries, and of everything else. */
const minLogged = 0.9;
const minOther = 0.97;
const logged = new Set(["create", "create-one", "comment", "edit"]);
const minImportedPerSecond = 3_000;
/** How much longer a start may take, in milliseconds, and how much more memory the service may take, in MiB. */
const maxStartMs = 1_000;
const maxMemoryMiB = 16;
/** Both sides are new processes, and their ratio must not depend on which is measured first. */
const minWarmUpSeconds = 2;

const without = { ...handWritten, name: "without the log" };
const withLog = { ...handWritten, name: "with the log", side: "service" as const };

export async function benchLog(run: Run): Promise<{ report: Report; text: string }> {
  const { options, log, signal, cleanUp } = run;
  const { address, machine } = await openBoard(run);
  const population = { ...options.population, database: `${address.database}_log` };
  const second = { ...address, database: population.database };
  // A log that has begun goes on, so each run begins with a new database.
  await ensureSeed({ address: second, population, anew: true, log });
  const admin = openAdmin(second);
  cleanUp.defer(() => admin.end());

  const folder = mkdtempSync(join(tmpdir(), "stoa-bench-log-"));
  cleanUp.defer(() => rmSync(folder, { recursive: true, force: true }));
  const keyFile = join(folder, "key");
  await writeKeyFile(keyFile, await makeKey("stoa.example/log"));
  const settings = { STOA_LOG_KEY_FILE: keyFile, STOA_DATA_DIR: folder };
  const sides = {
    baseline: await watch(startService(address, options, signal, { STOA_LOG: "off" }), cleanUp),
    service: await watch(startService(second, options, signal, settings), cleanUp),
  };
  const imported = await measureImport(admin, log, signal);
  const note = `${Math.round(imported).toLocaleString("en")} rows imported a second`;
  log(note);

  const all = [...createCases(population), ...createTextCases(population)];
  const cases = choose("case", all, options.only);
  const warmUpSeconds = Math.max(options.warmUpSeconds, minWarmUpSeconds);
  const context = { ...run, options: { ...options, warmUpSeconds } };
  const measurements = await measureAll(cases, [withLog], sides, context, without);
  const missed = measurements.flatMap(({ case: name, protocol, ratio }) => {
    const min = logged.has(name) ? minLogged : minOther;
    return protocol !== withLog.name || ratio >= min ? [] : [`${name} reaches ${ratio.toFixed(2)}, not ${min}`];
  });
  // What follows is asked of one side only.
  const more = (sides.service.memory.peak() ?? Number.NaN) - (sides.baseline.memory.peak() ?? Number.NaN);
  const published = await measurePublished(context, sides.service.child.url, second);
  missed.push(...published.missed);
  const residentMiB = sides.service.memory.peak();
  if (!(more <= maxMemoryMiB)) missed.push(`the log takes ${more.toFixed(0)} MiB more, not ${maxMemoryMiB}`);
  const longer = await measureStarts(sides, [
    () => startService(address, options, signal, { STOA_LOG: "off" }),
    () => startService(second, options, signal, settings),
  ]);
  if (!(longer <= maxStartMs)) missed.push(`a start takes ${longer.toFixed(0)} ms longer, not ${maxStartMs}`);
  const [[head]] = await admin.query<RowDataPacket[]>("SELECT size FROM log_head");
  const taken = `the log takes ${more.toFixed(0)} MiB more, and a start ${longer.toFixed(0)} ms more with ${head?.size} entries`;
  if (!(imported >= minImportedPerSecond)) missed.push(`${note}, not ${minImportedPerSecond}`);
  return reportComparison(
    { ...run, machine },
    { measurements, residentMiB, notes: [note, ...published.notes, taken], missed },
    { ratio: "throughput as a share of the same service's without the log" },
  );
}

/** Starts the service without the log and with it, in turn. @returns how much longer the second takes, in milliseconds */
async function measureStarts(running: Sides, starts: [() => Promise<Child>, () => Promise<Child>]): Promise<number> {
  for (const { child } of [running.baseline, running.service]) await child.stop();
  const differences: number[] = [];
  for (let round = 0; round < 5; round++) {
    const times: number[] = [];
    for (const start of starts) {
      const began = performance.now();
      const child = await start();
      times.push(performance.now() - began);
      await child.stop();
    }
    differences.push((times[1] as number) - (times[0] as number));
  }
  return median(differences);
}

/** Waits for the end of the import. @returns how many rows it has imported a second, once it had begun */
async function measureImport(admin: Pool, log: (line: string) => void, signal: AbortSignal): Promise<number> {
  log("waiting for the log to begin, and for the end of its import");
  let began: { at: number; size: number } | undefined;
  for (;;) {
    const [[row]] = await admin.query<RowDataPacket[]>(
      `SELECT h.size + (SELECT COUNT(*) FROM log_outbox) AS size, i.imported FROM log_identity i JOIN log_head h`,
    );
    const now = { at: performance.now(), size: Number(row?.size) };
    if (row?.imported !== "agent 0") began ??= now;
    if (row?.imported === "" && began !== undefined) return (now.size - began.size) / ((now.at - began.at) / 1000);
    await sleep(100, undefined, { signal });
  }
}
