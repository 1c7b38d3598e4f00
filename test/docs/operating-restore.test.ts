// How docs/operating.md says to back up and restore, run by a shell beside a service with a private database.
// The service is another process, and this file imports nothing of it: to load it here would take as long as a restore.
import { execFile } from "node:child_process";
import { chmodSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { nodeEnvironment } from "../support/node-environment.ts";
import { ServiceProcess } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { waitUntil } from "../support/wait.ts";
import { root } from "./pages.ts";
import { Sections } from "./sections.ts";

const page = new Sections("docs/operating.md");
const home = scratchFolder();
const dataDir = join(home, "data");
// The account of the service enters it.
chmodSync(home, 0o755);

let service: ServiceProcess;
let url: string;

async function start(): Promise<void> {
  service = new ServiceProcess({ STOA_DATA_DIR: dataDir });
  url = await service.url();
}

const stop = () => service.end("SIGINT");

await start();
afterAll(stop);

/** Runs the commands of a section. */
function run(heading: string): Promise<void> {
  const places = [
    ["/var/backups/stoa", join(home, "backups")],
    ["/var/lib/stoa", dataDir],
    ["/var/tmp/stoa-trial", join(home, "trial")],
  ] as const;
  return page.run(heading, places, { STOA_DATA_DIR: dataDir });
}

const statusOf = async (path: string) => (await fetch(`${url}/api/v1/${path}`)).status;

async function register(name: string): Promise<void> {
  const { status } = await fetch(`${url}/api/v1/agents/register`, { method: "POST", body: JSON.stringify({ name }) });
  expect(status).toBe(201);
}

/** Restores the backup to the service that runs, as soon as there is one. */
async function restoreBesideService(): Promise<unknown> {
  const backups = join(home, "backups");
  const find = () => (existsSync(backups) ? readdirSync(backups).find((name) => name.endsWith(".sql")) : undefined);
  await waitUntil("the backup", () => find() !== undefined);
  const file = join(backups, find() as string);
  const args = ["--disable-warning=ExperimentalWarning", "src/operator/main.ts", "restore", file];
  const env = { ...nodeEnvironment, STOA_DATA_DIR: dataDir };
  return promisify(execFile)(process.execPath, args, { cwd: root, env }).catch((refusal) => refusal);
}

it("the commands back up beside the service, and try the backup", async () => {
  await register("Zeno");
  await waitUntil("the receipt of yesterday", async () => (await statusOf("house/receipts/1")) === 200);
  // A restore waits a second for the folder of its data, in which the trial of the backup goes on.
  const [refused] = await Promise.all([restoreBesideService(), run("Backup")]);
  const [file = ""] = readdirSync(join(home, "backups"));
  expect(statSync(join(home, "backups", file)).mode & 0o777).toBe(0o600);
  expect(await statusOf("agents/Zeno")).toBe(200);
  expect(refused).toMatchObject({ code: 3, stdout: "" });
  expect((refused as { stderr: string }).stderr).toMatch(
    /^stoa restore: the data folder \S+ is in use.*; stop it first.*\n$/,
  );
});

it("the commands restore it to a service that has stopped, which then goes on with the rights that it had", async () => {
  await register("Later");
  await stop();
  const { uid, mode } = statSync(dataDir);
  await run("Restore");
  expect(statSync(dataDir)).toMatchObject({ uid, mode });
  await start();
  expect(await statusOf("agents/Zeno")).toBe(200);
  expect(await statusOf("agents/Later")).toBe(404);
});
