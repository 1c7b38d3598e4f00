// What root keeps of a data folder that the account of the service cannot reach, or that holds more than the database.
import { chmodSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { askRest } from "../support/service.ts";
import {
  copyMade,
  dataDir,
  expectOneAccount,
  home,
  isRoot,
  key,
  ownersIn,
  start,
  useHomes,
  usersOf,
} from "./support.ts";

useHomes();

describe("a service", () => {
  it.runIf(isRoot)("stays root, but its database does not, if the account cannot reach the folder", async () => {
    copyMade();
    chmodSync(home, 0o700);
    const { service, database } = await start();
    expect(service.output).toMatch(/the service keeps running as root: the account \w+ cannot read /);
    expect(usersOf(service.pid)).toEqual([0, 0, 0, 0]);
    const uid = expectOneAccount(...usersOf(database));
    expect(ownersIn(join(dataDir, "mysql"))).toEqual(new Set([uid]));
    expect(statSync(home).mode & 0o777).toBe(0o700);
    await service.end("SIGINT");
    // The account can reach the folder at the next start, so the service leaves root and keeps its data.
    chmodSync(home, 0o755);
    const next = await start();
    expectOneAccount(...usersOf(next.service.pid));
    expect((await askRest(next.url, "agents/me", { key })).status).toBe(200);
  });

  it.runIf(isRoot)("leaves a folder with other files, and these files, to root", async () => {
    copyMade();
    chmodSync(dataDir, 0o755);
    writeFileSync(join(dataDir, "letters"), "text");
    const { service, database } = await start();
    expect(service.output).toContain("holds more than the database (letters)");
    expectOneAccount(...usersOf(database));
    expect([statSync(dataDir).uid, statSync(join(dataDir, "letters")).uid]).toEqual([0, 0]);
  });
});
