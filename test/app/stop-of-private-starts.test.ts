import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { untilSays } from "../support/process.ts";
import { isRunning } from "../support/running.ts";
import { waitUntil } from "../support/wait.ts";
import { DataFolder, processesWith } from "./data-folder.ts";
import { expectStop, startToStop } from "./stopping.ts";

// The tests mostly wait, so they run concurrently.
describe.concurrent("SIGTERM during a start with a private database", () => {
  it("ends a start whose private database stops answering", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "stoa-stop-"));
    afterFile(() => rmSync(dataDir, { recursive: true }));
    const service = startToStop({ STOA_DATA_DIR: dataDir });
    const record = join(dataDir, "mysql.json");
    const recorded = () => (existsSync(record) ? JSON.parse(readFileSync(record, "utf8")).pid : 0);
    await waitUntil("the server's process", () => recorded() > 0);
    const pid = recorded();
    process.kill(pid, "SIGSTOP");
    await expectStop(service);
    await waitUntil("the end of the server", () => !isRunning(pid));
  });

  it("leaves nothing running, also no private database", async () => {
    const folder = new DataFolder();
    const interrupted = folder.start();
    await untilSays(interrupted, "starting");
    interrupted.signal("SIGTERM");
    await interrupted.exited;
    expect(processesWith(folder.path)).toEqual([]);
  });
});
