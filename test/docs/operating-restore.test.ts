// How docs/operating.md says to back up and restore, run by a shell beside a service with a private database.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createOperatorClient } from "../../src/client/operator.ts";
import { operatorToken } from "../ledger/support.ts";
import { operateWith } from "../operator/support.ts";
import { askRest } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { dataDir, home, run, start, stop, url, useService } from "./operated-service.ts";

/** Seals a session, as an internal service does. */
function seal(session: string) {
  const sealed = { book: "books", session, note: "", source: "a test" };
  return createOperatorClient(url, { operatorToken, tries: 1 }).sealSession(sealed);
}

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
    expect(await seal("2020-01-02")).toMatchObject({ receipt: { seq: 2 } });
    // Served, and so remembered beside the database.
    expect(await askRest(url, "house/receipts/2")).toMatchObject({ status: 200 });
    await stop();
    const { uid, mode } = statSync(dataDir);
    await run("Restore");
    expect(statSync(dataDir)).toMatchObject({ uid, mode });
    await start();
    expect(await askRest(url, "agents/Zeno")).toMatchObject({ status: 200 });
    expect(await askRest(url, "agents/Later")).toMatchObject({ status: 404 });
  });

  it("find that the restored ledger has lost a receipt, and let it go on by an operator's word", async () => {
    await waitUntil("the warning", async () => {
      const { status, body } = await askRest(url, "/readyz");
      return status === 200 && String(body.warning).includes("recover");
    });
    await expect(seal("2020-01-03")).rejects.toMatchObject({ code: "unavailable" });
    const settings = { STOA_DATA_DIR: dataDir };
    const survey = await operateWith(settings, ["recover"]);
    expect(survey).toMatchObject({ status: 1, notes: [] });
    const [, lost = ""] = /--abandon (\S+)/.exec(survey.out.join("\n")) ?? [];
    expect(lost).toMatch(/^2:/);
    const recovered = await operateWith(settings, ["recover", "--abandon", lost, "--note", "restored a backup"]);
    expect(recovered).toMatchObject({ status: 0 });
    await waitUntil("the warning to go", async () => {
      return (await askRest(url, "/readyz")).body.warning === undefined;
    });
    expect(await seal("2020-01-03")).toMatchObject({ receipt: { seq: 3 } });
    expect((await askRest(url, "/house/verify")).body).toMatchObject({ verify_ok: true, count: 3 });
  });
});
