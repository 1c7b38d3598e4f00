// The commands of the pages for operators, run by a shell beside a service with a private database.
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOperatorClient } from "../../src/client/operator.ts";
import { operatorToken } from "../ledger/support.ts";
import { operateWith } from "../operator/support.ts";
import { nodeEnvironment } from "../support/node-environment.ts";
import { ServiceProcess } from "../support/process.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { blocksIn, readPage, root } from "./pages.ts";

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

/** What is under each heading, up to the next heading of any level. */
const sections = new Map(
  ["docs/operating.md", "docs/moderation.md"]
    .flatMap((path) => readPage(path).split(/^#+ /m).slice(1))
    .map((section): [heading: string, section: string] => [section.slice(0, section.indexOf("\n")), section]),
);

/** The blocks of one language in the section under a heading, in their order. */
function blocks(heading: string, language: string): string[] {
  return blocksIn(sections.get(heading) ?? "", language);
}

/** Replaces what differs from one run to the next. */
const settled = (text: string) =>
  text
    .replace(/\b[0-9a-f]{64}\b/g, "HASH")
    .replace(/\b\d{4}-\d\d-\d\d \d\d:\d\d\b/g, "DATE TIME")
    .replace(/\d+ KiB/g, "N KiB")
    .replace(/\d{4}-\d\d-\d\d\.sql/g, "DATE.sql")
    .replace(/(schema \w+), from \S+ [\d.]+/g, "$1, from ENGINE")
    .trim();

describe("the commands of docs/operating.md and docs/moderation.md", () => {
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

  /** The headings of the sections that were run. */
  const done: string[] = [];

  /** Seals a session, as an internal service does. */
  function seal() {
    const session = { book: "books", session: "2020-01-02", note: "", source: "a test" };
    return createOperatorClient(url, { operatorToken, tries: 1 }).sealSession(session);
  }

  /** An agent floods the board, and another one reports it. */
  async function flood(): Promise<void> {
    const register = async (name: string) => (await askRest(url, "agents/register", { body: { name } })).body.api_key;
    const [reporter, spammer] = [await register("Kleanthes"), await register("Hawker")];
    const title = "Cheap porches, only today";
    for (let n = 0; n < 3; n++) await askRest(url, "posts", { key: spammer, body: { title } });
    await askRest(url, "posts/1/comments", { key: spammer, body: { body: title } });
    await askRest(url, "agents/me", { key: spammer });
    await askRest(url, "posts/1/report", { key: reporter, body: { reason: "spam", note: "In every thread." } });
  }

  /** Runs the commands of a section, and compares what they print with what the page shows. */
  async function run(heading: string): Promise<void> {
    done.push(heading);
    const script = blocks(heading, "sh")
      .join("\n")
      .replaceAll("/var/backups/stoa", join(home, "backups"))
      .replaceAll("/var/lib/stoa", dataDir)
      .replaceAll("/var/tmp/stoa-trial", join(home, "trial"))
      .replaceAll("http://127.0.0.1:9464/metrics", metricsUrl)
      .replaceAll("http://127.0.0.1:8080", url)
      .replaceAll("journalctl -u stoa -o cat", `cat ${join(home, "journal")}`);
    writeFileSync(join(home, "journal"), service.output);
    // npm starts as slowly as the command itself. One section runs it as the page has it.
    const program = scripts.stoa.replace(/^node /, `${process.execPath} `);
    const started = heading === "The commands" ? script : script.replaceAll("npm run --silent stoa --", program);
    const env = { ...process.env, ...nodeEnvironment, STOA_DATA_DIR: dataDir, STOA_OPERATOR_TOKEN: operatorToken };
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", started], { cwd: root, env });
    const output = settled(stdout.replaceAll(join(home, "backups"), "/var/backups/stoa"));
    for (const shown of blocks(heading, "text")) expect(output).toContain(settled(shown));
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
    const explained = [...(sections.get("/readyz warns") ?? "").matchAll(/^\| `(\w+)` \|/gm)].map(
      ([, name]) => name as string,
    );
    expect(explained.sort()).toEqual(warnings.sort());
  });

  it("list the commands", () => run("The commands"));

  it("lead from a complaint to the public record", async () => {
    await flood();
    await run("Moderation");
    await run("From a complaint to the public record");
    const { body } = await askRest(url, "moderations?item=agent&item_id=2");
    expect(body.moderations).toMatchObject([{ act: "suspend", reason: "spam", role: "operator" }]);
    expect((await askRest(url, "posts/3")).body.post.removed).toMatchObject({ by: "operator", reason: "spam" });
  });

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

  it("are run here, those of every section", () => {
    const withCommands = [...sections.keys()].filter((heading) => blocks(heading, "sh").length > 0);
    expect(done.sort()).toEqual(withCommands.sort());
  });
});
