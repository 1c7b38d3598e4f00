import { cpSync } from "node:fs";
import { join } from "node:path";
import { ServiceProcess } from "../../support/process.ts";
import { type Fault, fine } from "../fault.ts";

export const folderCopied: Fault = {
  name: "Copied data folder",
  done: "The data folder of a running service is copied, and a second service is started on the copy, then stopped.",
  seen: "Nothing: the original keeps serving. The copy looks like a database after a crash. Whether it starts depends on the moment of the copy.",
  during: fine,
  async harm(stage) {
    const copy = join(stage.folder(0o700), "data");
    const pid = stage.databasePid();
    cpSync(stage.dataDir, copy, { recursive: true, preserveTimestamps: true });
    const second = new ServiceProcess({ ...stage.settings, STOA_DATA_DIR: copy });
    // It may or may not start. It ends in both cases.
    await second.url().catch(() => {});
    await second.end("SIGTERM");
    return stage.databasePid() === pid ? [] : ["the original's database was started again"];
  },
};
