// npm run mutants: mutates the pure rooms and runs their tests against each mutant. It fails below the minimum score.
//   npm run mutants -- receipt/verify transcoding/json:20-80     only these files or lines; the results of earlier runs are kept,
//                                                                but only these files are judged
//   npm run mutants -- receipt --force --concurrency 1           runs all mutants again; options are Stryker's
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { buildFixture } from "../support/fixture.ts";
import { isChosen, leastPercent, select } from "./rooms.ts";
import { judge, type Report } from "./score.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const reportFile = `${root}/node_modules/.cache/mutants.json`;

rmSync(reportFile, { force: true });
const stryker = `${root}/node_modules/@stryker-mutator/core/bin/stryker.js`;
const config = "test/mutants/stryker.config.mjs";
const args = process.argv.slice(2);
const firstOption = args.findIndex((arg) => arg.startsWith("-"));
const places = firstOption === -1 ? args : args.slice(0, firstOption);
const { mutate, tests } = select(places);
const fixture = `${root}/node_modules/.cache/mutants-fixture.binpb`;
writeFileSync(fixture, buildFixture());
const { status } = spawnSync(
  process.execPath,
  [stryker, "run", config, "--mutate", mutate.join(","), ...args.slice(places.length)],
  { cwd: root, stdio: "inherit", env: { ...process.env, MUTANTS_TESTS: tests.join(" "), STOA_TEST_FIXTURE: fixture } },
);
if (status !== 0) process.exit(status ?? 1);

const readJson = (file: string) => JSON.parse(readFileSync(file, "utf8"));
const { files }: Report = readJson(reportFile);
const chosen = Object.fromEntries(Object.entries(files).filter(([file]) => isChosen(file, places)));
const { rooms, survivors, timeouts } = judge({ files: chosen });
for (const { file, line, mutant, status } of survivors) console.log(`${status} ${file}:${line}  ${mutant}`);
for (const { file, line, mutant } of timeouts) console.log(`Is this an endless loop? ${file}:${line}  ${mutant}`);
console.table(rooms);
const bad = Object.entries(rooms).filter(([folder, { percent }]) => percent < leastPercent(folder));
if (bad.length > 0 || Object.keys(rooms).length === 0) {
  console.error("Each room must have enough of its mutants killed; rooms.ts says how many.");
  process.exitCode = 1;
}
