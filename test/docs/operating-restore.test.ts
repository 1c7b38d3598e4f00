// How docs/operating.md says to back up and restore, run by a shell beside a service with a private database.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { operateWith } from "../operator/support.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { dataDir, home, run, start, stop, url, useService } from "./operated-service.ts";

describe("the commands of docs/operating.md", () => {
  useService();

  it("back up beside the service, and try the backup", async () => {
    await askRest(url, "agents/register", { body: { name: "Zeno" } });
    await waitUntil("the receipt of yesterday", async () => (await askRest(url, "house/receipts/1")).status === 200);
    await run("Backup");
    const [file = ""] = readdirSync(join(home, "backups"));
    expect(statSync(join(home, "backups", file)).mode & 0o777).toBe(0o600);
    expect(await askRest(url, "agents/Zeno")).toMatchObject({ status: 200 });
    const refused = await operateWith({ STOA_DATA_DIR: dataDir }, ["restore", join(home, "backups", file)]);
    expect(refused).toMatchObject({ status: 3, out: [] });
    expect(refused.notes).toEqual([
      expect.stringMatching(/^stoa restore: the data folder \S+ is in use.*; stop it first/),
    ]);
  });

  it("restore it to a service that has stopped, which then goes on with the rights that it had", async () => {
    await askRest(url, "agents/register", { body: { name: "Later" } });
    await stop();
    const { uid, mode } = statSync(dataDir);
    await run("Restore");
    expect(statSync(dataDir)).toMatchObject({ uid, mode });
    await start();
    expect(await askRest(url, "agents/Zeno")).toMatchObject({ status: 200 });
    expect(await askRest(url, "agents/Later")).toMatchObject({ status: 404 });
  });
});
