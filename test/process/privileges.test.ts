// Which accounts the processes use, on the machine and in the private database. If root starts the service, nothing keeps
// running as root. If another user starts it, everything runs as that user.
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createConnection } from "mysql2/promise";
import { afterAll, describe, expect, it } from "vitest";
import { splitStatements } from "../../src/store/schema/migration-files.ts";
import { askRest } from "../support/ask-rest.ts";
import { waitUntil } from "../support/wait.ts";
import {
  dataDir,
  endHome,
  expectOneAccount,
  home,
  isRoot,
  newHome,
  ownersIn,
  recordedServer,
  start,
  usersOf,
} from "./support.ts";

const grants = splitStatements(readFileSync(new URL("../../src/store/schema/grants.sql", import.meta.url), "utf8"));

newHome();
afterAll(endHome);

/** The first start creates the folder. This is what was seen of it. */
const first = await start();
const key: string = (await askRest(first.url, "agents/register", { body: { name: "Ada" } })).body.api_key;
const users = [...usersOf(first.service.pid), ...usersOf(first.database)];
const folder = statSync(dataDir);
const owners = ownersIn(dataDir);
const [, capabilities] = /^CapEff:\s+(\w+)$/m.exec(readFileSync(`/proc/${first.service.pid}/status`, "utf8")) ?? [];
await first.service.end("SIGINT");

it("the service, its database and their new folder belong to one account, which is not root", () => {
  const uid = expectOneAccount(...users, folder.uid);
  expect(owners).toEqual(new Set([uid]));
  expect(folder.mode & 0o777).toBe(0o700);
  if (isRoot) expect(capabilities).toMatch(/^0{16}$/);
});

describe("a service that root starts on a data folder of root", async () => {
  execFileSync("chown", ["-hR", String(process.getuid?.()), dataDir]);
  // A service that had to stay root leaves it so.
  chmodSync(dataDir, 0o711);
  const outside = join(home, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "file"), "");
  symlinkSync(outside, join(dataDir, "mysql", "away"));
  const { url, database, socketPath } = await start();

  it("gives it to its account, without data loss and without changes outside it", async () => {
    expect((await askRest(url, "agents/me", { key })).status).toBe(200);
    if (isRoot) expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expectOneAccount(...usersOf(database), ...ownersIn(join(dataDir, "mysql")), statSync(dataDir).uid);
    const mine = process.getuid?.();
    expect([statSync(outside).uid, statSync(join(outside, "file")).uid]).toEqual([mine, mine]);
  });

  it("uses accounts of the database that have exactly the rights of grants.sql, and cannot change a receipt", async () => {
    expect((await askRest(url, "house/receipts/1")).status).toBe(200);
    // The socket authenticates the machine's user as the database's root.
    const admin = await createConnection({ socketPath, user: "root", database: "stoa" });
    const [threads] = await admin.query("SHOW PROCESSLIST");
    const users = new Set((threads as { User: string }[]).map(({ User }) => User));
    expect(users).toContain("stoa_serving");
    for (const user of ["stoa_serving", "stoa_migration"]) {
      const [rows] = await admin.query(`SHOW GRANTS FOR '${user}'@'localhost'`);
      const held = (rows as object[])
        .map((row) => rightsOf(Object.values(row)[0]))
        .filter((each) => each !== "USAGE *.*");
      expect(held.sort()).toEqual(
        grants
          .filter((statement) => statement.startsWith("GRANT") && statement.includes(user))
          .map(rightsOf)
          .sort(),
      );
    }
    await admin.end();
    const serving = await createConnection({ socketPath, user: "stoa_serving", database: "stoa" });
    for (const sql of ["UPDATE receipts SET hash = ''", "DELETE FROM receipts", "DROP TABLE receipts"]) {
      await expect(serving.query(sql)).rejects.toThrow(/command denied to user 'stoa_serving'/);
    }
    await serving.end();
  });

  it("starts a killed database server again as the same account", async () => {
    process.kill(database, "SIGKILL");
    await waitUntil("another server", () => recordedServer().pid !== database);
    await waitUntil("readiness", async () => (await askRest(url, "/readyz")).status === 200);
    expectOneAccount(...usersOf(recordedServer().pid), statSync(join(dataDir, "mysql")).uid);
  });
});

/** Turns `GRANT SELECT, INSERT ON …` into `INSERT, SELECT stoa.posts`. */
function rightsOf(statement: string): string {
  const [, rights = "", object = ""] = /^GRANT (.*) ON (\S+) TO /.exec(statement) ?? [];
  return `${rights.split(", ").sort().join(", ")} ${object.replaceAll("`", "")}`;
}
