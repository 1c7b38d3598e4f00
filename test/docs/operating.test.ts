// The commands of docs/operating.md, run by a shell beside a service with a private database.
import { describe, expect, it } from "vitest";
import { metricsUrl, page, run, useService } from "./operated-service.ts";
import { readPage } from "./pages.ts";

describe("the commands of docs/operating.md", () => {
  useService();

  it("read the metrics", () => run("Watch"));

  it("document each metric and each warning of the service", async () => {
    const metrics = await (await fetch(metricsUrl)).text();
    const served = [...metrics.matchAll(/^# TYPE (stoa_\w+)/gm)].map(([, name]) => name as string);
    const documented = [...readPage("docs/reference.md").matchAll(/^\| (`stoa_[^|]*) \|/gm)].flatMap(
      ([, cell]) => cell?.match(/stoa_\w+/g) ?? [],
    );
    expect(documented.sort()).toEqual(served.sort());
    const warnings = [...metrics.matchAll(/^stoa_warning\{name="(\w+)"\}/gm)].map(([, name]) => name as string);
    const explained = [...page.textOf("/readyz warns").matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name as string);
    expect(explained.sort()).toEqual(warnings.sort());
  });

  it("list the commands", () => run("The commands"));

  it("show what waits to be sealed, and seal it", () => run("The clock is in doubt"));

  it("compare the ledger with what the replica remembers", () => run("Receipts are lost"));

  it("check what is stored, and find it sound", () => run("fsck"));

  it("are run here or in operating-restore.test.ts, those of every section", () =>
    page.expectAllRun(["Backup", "Restore"]));
});
