// The engine's own programs, which backup and restore run: what they are told, and what happens when they fail.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { clientProgram } from "../../src/store/backup/client-program.ts";
import { afterFile } from "../support/after-file.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";
import { maySkipSmallDisk, mountSmallDisk } from "../support/tmpfs.ts";
import { flavourOf, operate, query } from "./support.ts";

const home = scratchFolder();
const password = "a-password-of-the-database";

const service = await startService();
const { config } = service.db;
const { key } = await service.register("Zeno");
await service.rest("posts", { key, body: { title: "A post", body: "x".repeat(9_000) } });
await service.app.close();
const flavour = await flavourOf(config);
const user = `stoa_own_${config.database.slice(-8)}`;
await query(
  config,
  `CREATE USER '${user}'@'%' IDENTIFIED BY '${password}'`,
  `GRANT SELECT ON ${config.database}.* TO '${user}'@'%'`,
);
afterFile(() => query(config, `DROP USER '${user}'@'%'`));
/** The account of the source, with a password. */
const address: TestDatabase["config"] = { ...config, user, password };

/** Puts a shell script in the place of a program until the end of the test. In it, "$real" is the program. */
function replace({ command }: { command: string }, script: string): void {
  const bin = mkdtempSync(join(home, "bin-"));
  const lines = ["#!/bin/sh", `real='${command}'`, `case "$*" in *--version) exec "$real" "$@";; esac`, script, ""];
  writeFileSync(join(bin, command.split("/").at(-1) as string), lines.join("\n"));
  chmodSync(join(bin, command.split("/").at(-1) as string), 0o755);
  vi.stubEnv("PATH", `${bin}:${process.env.PATH}`);
  onTestFinished(() => void vi.unstubAllEnvs());
}

/** A new folder for backups. */
const newFolder = () => mkdtempSync(join(home, "backups-"));

describe("the programs", () => {
  it("get the password neither on their command lines nor in their environment, and leave no file", async () => {
    const told = join(home, "told");
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith("stoa-client-"));
    const record = `{ cat /proc/$$/cmdline /proc/$$/environ; ls -l /proc/$$/fd/3; cat /dev/fd/3; } >> ${told}; exec "$real" "$@"`;
    replace(clientProgram("dump", flavour), record);
    replace(clientProgram("sql", flavour), record);
    const file = join(newFolder(), "backup.sql");
    expect(await operate(address, ["backup", file])).toMatchObject({ status: 0, notes: [] });
    const target = await createTestDatabase();
    expect(await operate(target.config, ["restore", file])).toMatchObject({ status: 0, notes: [] });
    const text = readFileSync(told, "utf8");
    // Only the file that it inherits has it, and that has no name any more.
    expect(text.split(password).length - 1).toBe(1);
    expect(text).toMatch(/-> .* \(deleted\)\n\[client\]/);
    expect(text).not.toMatch(/STOA_|MYSQL_|HOME=/);
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith("stoa-client-"))).toEqual(before);
  });

  it.each([
    ["mariadb", /^The program mariadb-dump is not installed here\. Install .*apt-get install mariadb-client/],
    ["mysql", /^The program mysqldump is not installed here\. Install .*apt-get install mysql-client/],
  ] as const)("of %s are named with what to install if they are missing", (which, line) => {
    expect(() => clientProgram("dump", which, [home])).toThrow(line);
    expect(() => clientProgram("sql", which, [home])).toThrow(/^The program m\w+ is not installed here/);
  });
});

describe("stoa backup leaves nothing behind, and says why,", () => {
  it("when the program is killed amid its work", async () => {
    replace(clientProgram("dump", flavour), `"$real" "$@" 2>/dev/null | head -c 6000; kill -9 $$`);
    const folder = newFolder();
    expect(await operate(address, ["backup", join(folder, "backup.sql")])).toEqual({
      status: 3,
      out: [],
      notes: [expect.stringMatching(/^stoa backup: m\w+(?:-dump|dump): it ended with SIGKILL$/)],
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it.skipIf(maySkipSmallDisk())("when its disk is full", async () => {
    const disk = mountSmallDisk(1);
    try {
      disk.fillTo(0);
      const { status, notes } = await operate(address, ["backup", join(disk.folder, "backup.sql")]);
      expect(status).toBe(3);
      expect(notes).toEqual([expect.stringMatching(/^stoa backup: ENOSPC: no space left on device/)]);
      expect(readdirSync(disk.folder)).toEqual(["ballast"]);
    } finally {
      disk.remove();
    }
  });
});

it("a restore whose client is killed can be repeated", async () => {
  const file = join(newFolder(), "backup.sql");
  expect(await operate(address, ["backup", file])).toMatchObject({ status: 0 });
  const target = await createTestDatabase();
  replace(clientProgram("sql", flavour), `head -c 8000 | "$real" "$@" 2>/dev/null; kill -9 $$`);
  const { status, notes } = await operate(target.config, ["restore", file]);
  expect({ status, notes }).toEqual({
    status: 3,
    notes: [expect.stringMatching(/^stoa restore: m\w+: it ended with SIGKILL/)],
  });
  await expect(startService({ db: target })).rejects.toThrow("A restore into this database was not finished.");
  vi.unstubAllEnvs();
  expect(await operate(target.config, ["restore", file])).toMatchObject({ status: 0 });
  const service = await startService({ db: target });
  expect((await service.rest("posts/1")).body.post).toMatchObject({ title: "A post" });
});
