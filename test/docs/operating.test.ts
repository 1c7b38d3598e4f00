// The commands of docs/operating.md, run by a shell beside a service.
import { expect, it } from "vitest";
import { startLedger } from "../ledger/support.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { readPage } from "./pages.ts";
import { Sections } from "./sections.ts";

const page = new Sections("docs/operating.md");
const dataDir = scratchFolder();
const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };
const { db, app } = await startLedger({ config: { dataDir, metrics } });
const metricsUrl = app.metricsUrl as string;

it.each([
  ["read the metrics", "Watch"],
  ["list the commands", "The commands"],
  ["show what waits to be sealed, and seal it", "The clock is in doubt"],
  ["compare the ledger with what the replica remembers", "Receipts are lost"],
  ["check what is stored, and find it sound", "fsck"],
])("the commands %s", async (_, heading) => {
  const settings = { STOA_DATABASE_URL: urlOf(db.config), STOA_DATA_DIR: dataDir };
  await page.run(heading, [["http://127.0.0.1:9464/metrics", metricsUrl]], settings);
});

it("the commands of every section are run here or in operating-restore.test.ts", () => {
  page.expectAllRun(["Backup", "Restore"]);
});

it("each metric and each warning of the service is documented", async () => {
  const served = await (await fetch(metricsUrl)).text();
  const names = [...served.matchAll(/^# TYPE (stoa_\w+)/gm)].map(([, name]) => name as string);
  const documented = [...readPage("docs/reference.md").matchAll(/^\| (`stoa_[^|]*) \|/gm)].flatMap(
    ([, cell]) => cell?.match(/stoa_\w+/g) ?? [],
  );
  // Only a private database has a disk that the service watches.
  const ofDisk = ["stoa_disk_free_bytes", "stoa_disk_min_free_bytes"];
  expect(documented.sort()).toEqual([...names, ...ofDisk].sort());
  const warnings = [...served.matchAll(/^stoa_warning\{name="(\w+)"\}/gm)].map(([, name]) => name as string);
  const explained = [...page.textOf("/readyz warns").matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name as string);
  expect(explained.sort()).toEqual(warnings.sort());
});
