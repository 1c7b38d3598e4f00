import { execFileSync } from "node:child_process";
import { constants, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { createLinkedDatabase } from "../support/database-link.ts";
import { urlOf } from "../support/process.ts";
import { isRunning } from "../support/running.ts";
import { waitUntil } from "../support/wait.ts";
import { fastTimers } from "./fast-timers.ts";
import { expectStop, startToStop } from "./stopping.ts";

/** Opens a pipe for writing, if somebody reads it, and leaves it open. */
function openWriter(pipe: string): boolean {
  try {
    openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENXIO") return false;
    throw error;
  }
}

// The tests mostly wait, so they run concurrently.
describe.concurrent("SIGTERM during a start", () => {
  it("ends a start whose disk never answers", async () => {
    const db = await createDatabaseWithSchema();
    const dataDir = mkdtempSync(join(tmpdir(), "stoa-stop-"));
    afterFile(() => rmSync(dataDir, { recursive: true }));
    mkdirSync(join(dataDir, "heads"));
    // A pipe whose writer writes nothing is read as long as a file on a server that is gone.
    const pipe = join(dataDir, "heads", "head.json");
    execFileSync("mkfifo", [pipe]);
    const service = startToStop({
      STOA_DATABASE_URL: urlOf(db.config),
      STOA_DATA_DIR: dataDir,
      NODE_OPTIONS: `--import=${fastTimers}`,
    });
    await waitUntil("a reader", () => openWriter(pipe));
    await expectStop(service);
  });

  it("ends a start whose private database stops answering, and that database", async () => {
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

  it("ends a start although something in the process never ends", async () => {
    const db = await createLinkedDatabase();
    db.relay.freeze();
    const forever = "data:text/javascript,setInterval(()=>{},1000)";
    const service = startToStop({
      STOA_DATABASE_URL: urlOf(db.config),
      NODE_OPTIONS: `--import=${forever} --import=${fastTimers}`,
    });
    await waitUntil("a connection", () => db.relay.clients > 0);
    await expectStop(service);
    expect(service.output).toContain("Stopped before the start was complete.");
    expect(service.output).toContain("the process ends although some of its work still runs");
  });
});
