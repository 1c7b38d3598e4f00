// A service with a private database beside which the commands of docs/operating.md are run.
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { ServiceProcess } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { Sections } from "./sections.ts";

// Several files of tests may share this module, one after the other: each has its own of these.
export let page: Sections;
export let home: string;
export let dataDir: string;
let service: ServiceProcess;
export let url: string;
export let metricsUrl: string;

export async function start(): Promise<void> {
  const settings = {
    STOA_DATA_DIR: dataDir,
    STOA_METRICS_PORT: "0",
    STOA_OPERATOR_TOKEN: "an-example-of-32-characters-or-more",
  };
  service = new ServiceProcess(settings);
  url = await service.url();
  [, metricsUrl = ""] = /"metrics":"([^"]+)"/.exec(service.output) ?? [];
}

export const stop = () => service.end("SIGINT");

/** Runs the commands of a section. */
export function run(heading: string): Promise<void> {
  const places = [
    ["/var/backups/stoa", join(home, "backups")],
    ["/var/lib/stoa", dataDir],
    ["/var/tmp/stoa-trial", join(home, "trial")],
    ["http://127.0.0.1:9464/metrics", metricsUrl],
  ] as const;
  return page.run(heading, places, { STOA_DATA_DIR: dataDir });
}

/** Starts the service before the tests of a file, and stops it after them. */
export function useService(): void {
  beforeAll(async () => {
    page = new Sections("docs/operating.md");
    home = scratchFolder();
    dataDir = join(home, "data");
    // The account of the service enters it.
    chmodSync(home, 0o755);
    await start();
  });
  afterAll(stop);
}
