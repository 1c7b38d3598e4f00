import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { maySkipSmallDisk, mountSmallDisk, type SmallDisk } from "../../support/tmpfs.ts";
import { type Fault, fine } from "../fault.ts";

let disk: SmallDisk;

export const diskFull: Fault = {
  name: "Full disk",
  done: "Another program fills the disk of the private database to its last byte for 10 s.",
  seen: "Writes get 503 `unavailable` with a message that says why. Reads continue. /readyz is 200 with a warning. Writes resume by themselves when there is space.",
  during: { read: fine.read, write: [503, ...fine.write], ready: fine.ready },
  cannotRun: () => (maySkipSmallDisk() ? "this account may not mount a disk" : undefined),
  async open(stage) {
    disk = mountSmallDisk(512);
    stage.onClose(() => disk.remove());
    await stage.open({}, join(disk.folder, "data"));
  },
  async harm(stage) {
    disk.fillTo(0);
    await sleep(10_000);
    return stage.expectWarning(/MiB free/);
  },
  async mend() {
    disk.empty();
  },
};
