// What root keeps of a data folder that the account of the service cannot reach, or that holds more than the database.
import { chmodSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { dataDir, expectOneAccount, home, isRoot, ownersIn, start, useHomes, usersOf } from "./support.ts";

useHomes();

it.runIf(isRoot)("a service stays root, but its database does not, as long as something is in the way", async () => {
  chmodSync(home, 0o700);
  const { service, database } = await start();
  expect(service.output).toMatch(/the service keeps running as root: the account \w+ cannot read /);
  expect(usersOf(service.pid)).toEqual([0, 0, 0, 0]);
  const uid = expectOneAccount(...usersOf(database));
  expect(ownersIn(join(dataDir, "mysql"))).toEqual(new Set([uid]));
  expect(statSync(home).mode & 0o777).toBe(0o700);
  await service.end("SIGINT");

  // The account can reach the folder, which holds a file of somebody else now.
  chmodSync(home, 0o755);
  writeFileSync(join(dataDir, "letters"), "text");
  const owner = statSync(dataDir).uid;
  const second = await start();
  expect(second.service.output).toContain("holds more than the database (letters)");
  expect(usersOf(second.service.pid)).toEqual([0, 0, 0, 0]);
  expectOneAccount(...usersOf(second.database));
  expect([statSync(dataDir).uid, statSync(join(dataDir, "letters")).uid]).toEqual([owner, 0]);
});
