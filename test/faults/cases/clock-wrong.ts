import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFaketime } from "../../../scripts/lib/faketime.mjs";
import { askRest } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";
import { type Fault, fine } from "../fault.ts";
import { Stage } from "../stage.ts";

let setClock: (offset: string) => void;

export const clockWrong: Fault = {
  name: "Wrong clock",
  done: "The service's clock is three years ahead for 10 s (libfaketime).",
  seen: "The board keeps running. Until the clock is right again, nothing is sealed (`unavailable`), and /readyz has a warning.",
  during: fine,
  cannotRun: () => (findFaketime() === undefined ? "libfaketime is not installed" : undefined),
  async open() {
    const folder = mkdtempSync(join(tmpdir(), "stoa-fault-clock-"));
    // The account of the service must be able to enter it.
    chmodSync(folder, 0o755);
    const file = join(folder, "offset");
    setClock = (offset) => {
      writeFileSync(`${file}.new`, offset);
      renameSync(`${file}.new`, file);
    };
    setClock("+0");
    const stage = await Stage.behindRelay({
      LD_PRELOAD: findFaketime() as string,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    });
    stage.onClose(() => rmSync(folder, { recursive: true }));
    return stage;
  },
  async harm({ url }) {
    setClock("+1095d");
    await sleep(10_000);
    const { status, body } = await askRest(url, "/readyz");
    return status === 200 && /clock/.test(body.warning) ? [] : [`/readyz: ${status} ${JSON.stringify(body)}`];
  },
  async mend(stage) {
    setClock("+0");
    await waitUntil("no warning", async () => (await askRest(stage.url, "/readyz")).body.warning === undefined);
    const days = await stage.withDatabase((db) => db.rows("SELECT date FROM ledger_days"));
    if (days.length > 0) throw new Error(`days were sealed that have not happened: ${days.length}`);
  },
};
