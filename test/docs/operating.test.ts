// The commands of docs/operating.md, run by a shell beside a service with a private database.
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOperatorClient } from "../../src/client/operator.ts";
import { operatorToken } from "../ledger/support.ts";
import { operateWith } from "../operator/support.ts";
import { ServiceProcess } from "../support/process.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { readPage } from "./pages.ts";
import { Sections } from "./sections.ts";

describe("the commands of docs/operating.md", () => {
  const page = new Sections("docs/operating.md");
  const home = mkdtempSync(join(tmpdir(), "stoa-operating-"));
  const dataDir = join(home, "data");
  let service: ServiceProcess;
  let url: string;
  let metricsUrl: string;

  async function start(): Promise<void> {
    const settings = { STOA_DATA_DIR: dataDir, STOA_METRICS_PORT: "0", STOA_OPERATOR_TOKEN: operatorToken };
    service = new ServiceProcess(settings);
    url = await service.url();
    [, metricsUrl = ""] = /"metrics":"([^"]+)"/.exec(service.output) ?? [];
  }

  /** Seals a session, as an internal service does. */
  function seal() {
    const session = { book: "books", session: "2020-01-02", note: "", source: "a test" };
    return createOperatorClient(url, { operatorToken, tries: 1 }).sealSession(session);
  }

  function run(heading: string): Promise<void> {
    const places = [
      ["/var/backups/stoa", join(home, "backups")],
      ["/var/lib/stoa", dataDir],
      ["/var/tmp/stoa-trial", join(home, "trial")],
      ["http://127.0.0.1:9464/metrics", metricsUrl],
    ] as const;
    return page.run(heading, places, { STOA_DATA_DIR: dataDir });
  }

  beforeAll(async () => {
    // The account of the service enters it.
    chmodSync(home, 0o755);
    await start();
  });
  afterAll(async () => {
    await service.end("SIGINT");
    rmSync(home, { recursive: true });
  });

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

  it("back up beside the service, and try the backup", async () => {
    await askRest(url, "agents/register", { body: { name: "Zeno" } });
    await run("Backup");
    const [file = ""] = readdirSync(join(home, "backups"));
    expect(statSync(join(home, "backups", file)).mode & 0o777).toBe(0o600);
    expect(await askRest(url, "agents/Zeno")).toMatchObject({ status: 200 });
    const refused = await operateWith({ STOA_DATA_DIR: dataDir }, ["restore", join(home, "backups", file)]);
    expect(refused).toMatchObject({ status: 3, out: [] });
    expect(refused.notes).toEqual([
      expect.stringMatching(/^stoa restore: the data folder \S+ is in use.*; stop it first/),
    ]);
  });

  it("show what waits to be sealed, and seal it", () => run("The clock is in doubt"));

  it("compare the ledger with what the replica remembers", () => run("Receipts are lost"));

  it("restore it to a service that has stopped, which then goes on with the rights that it had", async () => {
    await askRest(url, "agents/register", { body: { name: "Later" } });
    expect(await seal()).toMatchObject({ receipt: { seq: 2 } });
    // Served, and so remembered beside the database.
    expect(await askRest(url, "house/receipts/2")).toMatchObject({ status: 200 });
    await service.end("SIGINT");
    const { uid, mode } = statSync(dataDir);
    await run("Restore");
    expect(statSync(dataDir)).toMatchObject({ uid, mode });
    await start();
    expect(await askRest(url, "agents/Zeno")).toMatchObject({ status: 200 });
    expect(await askRest(url, "agents/Later")).toMatchObject({ status: 404 });
  });

  it("find that the restored ledger has lost a receipt, and let it go on by an operator's word", async () => {
    await waitUntil("the warning", async () => {
      const { status, body } = await askRest(url, "/readyz");
      return status === 200 && String(body.warning).includes("recover");
    });
    await expect(seal()).rejects.toMatchObject({ code: "unavailable" });
    const settings = { STOA_DATA_DIR: dataDir };
    const survey = await operateWith(settings, ["recover"]);
    expect(survey).toMatchObject({ status: 1, notes: [] });
    const [, lost = ""] = /--abandon (\S+)/.exec(survey.out.join("\n")) ?? [];
    expect(lost).toMatch(/^2:/);
    const recovered = await operateWith(settings, ["recover", "--abandon", lost, "--note", "restored a backup"]);
    expect(recovered).toMatchObject({ status: 0 });
    await waitUntil("the warning to go", async () => {
      return (await askRest(url, "/readyz")).body.warning === undefined;
    });
    expect(await seal()).toMatchObject({ receipt: { seq: 3 } });
    expect((await askRest(url, "/house/verify")).body).toMatchObject({ verify_ok: true, count: 3 });
  });

  it("check what is stored, and find it sound", () => run("fsck"));

  it("are run here, those of every section", () => page.expectAllRun());
});
