import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findFaketime } from "../../../scripts/lib/faketime.mjs";
import { type Fault, fine } from "../fault.ts";

let setClock: (offset: string) => void;

export const clockWrong: Fault = {
  name: "Wrong clock",
  done: "The service's clock is three years ahead for 10 s (libfaketime).",
  seen: "The board keeps running. Until the clock is right again, nothing is sealed (`unavailable`), and /readyz has a warning.",
  during: fine,
  cannotRun: () => (findFaketime() === undefined ? "libfaketime is not installed" : undefined),
  async open(stage) {
    const file = join(stage.folder(), "offset");
    setClock = (offset) => {
      writeFileSync(`${file}.new`, offset);
      renameSync(`${file}.new`, file);
    };
    setClock("+0");
    await stage.openBehindRelay({
      LD_PRELOAD: findFaketime() as string,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    });
  },
  async harm(stage) {
    setClock("+1095d");
    await sleep(10_000);
    return stage.expectWarning(/clock/);
  },
  async mend(stage) {
    setClock("+0");
    await stage.untilNoWarning();
    const days = await stage.withDatabase((db) => db.rows("SELECT date FROM ledger_days"));
    if (days.length > 0) throw new Error(`days were sealed that have not happened: ${days.length}`);
  },
};
