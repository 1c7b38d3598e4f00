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
import { type Side, watch } from "../memory.ts";
import { choose } from "../options.ts";
import { handWritten } from "../protocols.ts";
import { type Report, reportComparison } from "../report.ts";
import type { Run } from "../run.ts";
import { ensureSeed } from "../seed.ts";
import { measurePublished, perSecond } from "./published.ts";

/** The minimum throughput with the log, as a share of that without: of what adds entries, and of everything else. */
const minLogged = 0.9;
const minOther = 0.97;
const logged = new Set(["create", "create-one", "comment", "edit"]);
const minImportedPerSecond = 3_000;
/** Creates while the import goes on, as a share of creates without the log. */
const minMeanwhile = 0.8;
/** How much longer a start may take, in milliseconds, and how much more memory the service may take, in MiB. */
const maxStartMs = 1_000;
const maxMemoryMiB = 16;
/** Memory of the database server for two boards, one of them with a log: 5.2 GB with 1,000,000 posts each. */
const bothBoards = "7G";
/** Both sides are new processes, and their ratio must not depend on which is measured first. */
const minWarmUpSeconds = 2;

const without = { ...handWritten, name: "without the log" };
const withLog = { ...handWritten, name: "with the log", side: "service" as const };

export async function benchLog(run: Run): Promise<{ report: Report; text: string }> {
  const { options, log, signal, cleanUp } = run;
  const { address, machine } = await openBoard(run, bothBoards);
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
  const imported = await measureImport(run, sides, admin);
  const note =
    `${Math.round(imported.rows).toLocaleString("en")} rows imported a second; meanwhile ` +
    `${imported.creates.toFixed(2)} of the creates without the log`;
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
  if (!(imported.rows >= minImportedPerSecond && imported.creates >= minMeanwhile)) {
    missed.push(`${note} (${minImportedPerSecond} and ${minMeanwhile} are asked)`);
  }
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

/**
 * Waits for the end of the import. Creates are measured at its beginning, when the import yields to them.
 * @returns how many rows it imports a second by itself, and what share of the creates without the log are possible meanwhile
 */
async function measureImport(run: Run, sides: Sides, admin: Pool): Promise<{ rows: number; creates: number }> {
  const { options, log, signal } = run;
  const { agents, communities, posts, discussed, commentsEach } = options.population;
  const before = { agent: 0, community: agents, post: agents + communities, comment: agents + communities + posts };
  const all = before.comment + discussed * commentsEach;
  /** How many rows are imported. */
  const reached = async () => {
    const [[row]] = await admin.query<RowDataPacket[]>("SELECT imported FROM log_identity");
    if (row?.imported === "") return all;
    const [kind, id] = (row?.imported ?? "agent 0").split(" ") as [keyof typeof before, string];
    return before[kind] + Number(id);
  };
  const creates = createCases(options.population).filter(({ name }) => name === "create");
  const requestsOf = (nth: number) => creates.flatMap((each) => each.calls(nth)).map(handWritten.encode);
  const createsOf = ({ child: { url } }: Side) => perSecond(run, url, requestsOf);
  const alone: number[] = [];
  const meanwhile: number[] = [];

  log("waiting for the log to begin");
  while ((await reached()) === 0) {
    // Both are warm by the end. After the import the database has much to write to the disk.
    await createsOf(sides.service);
    alone.push(await createsOf(sides.baseline));
  }
  log("measuring the import");
  for (let round = 0; round < options.rounds; round++) meanwhile.push(await createsOf(sides.service));
  const from = { at: performance.now(), rows: await reached() };
  if (from.rows === all) throw new Error("The import ended before the creates were measured.");
  while ((await reached()) < all) await sleep(100, undefined, { signal });
  const rows = (all - from.rows) / ((performance.now() - from.at) / 1000);
  return { rows, creates: median(meanwhile) / median(alone.slice(-options.rounds)) };
}
