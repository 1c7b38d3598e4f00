import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterFile } from "../support/after-file.ts";
import { ServiceProcess } from "../support/process.ts";

/** Returns the ids of the processes whose command line contains `text`. */
export function processesWith(text: string): number[] {
  const found: number[] = [];
  for (const pid of readdirSync("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text)) found.push(Number(pid));
    } catch {
      // The process ended in the meantime.
    }
  }
  return found;
}

/** A data folder on which services are started, one after the other. */
export class DataFolder {
  readonly path = mkdtempSync(join(tmpdir(), "stoa-main-"));
  readonly #started: ServiceProcess[] = [];

  constructor() {
    afterFile(async () => {
      await this.endAll();
      rmSync(this.path, { recursive: true });
    });
  }

  start(environment?: Record<string, string | undefined>): ServiceProcess {
    const started = new ServiceProcess({ STOA_DATA_DIR: this.path, ...environment });
    this.#started.push(started);
    return started;
  }

  async endAll(): Promise<void> {
    for (const each of this.#started.splice(0)) await each.end("SIGINT");
  }

  /** The processes of its database. */
  databases(): number[] {
    return processesWith(join(this.path, "mysql"));
  }
}
