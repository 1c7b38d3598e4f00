// Which account a service and its private database run as, by the owner of the data folder and by who may reach it.
import { once } from "node:events";
import { chownSync, linkSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { generate } from "selfsigned";
import { describe, expect, it } from "vitest";
import { takeLock } from "../../src/process/folder-lock.ts";
import { operateWith } from "../operator/support.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { urlOf } from "../support/process.ts";
import { begin, dataDir, expectOneAccount, home, isRoot, ownersIn, start, useHomes, usersOf } from "./support.ts";

useHomes();

async function freeLowPort(): Promise<number> {
  for (let port = 700; port < 1024; port++) {
    const server = createServer().listen(port, "127.0.0.1");
    const free = await Promise.race([
      once(server, "listening").then(() => true),
      once(server, "error").then(() => false),
    ]);
    if (!free) continue;
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error("no port below 1024 is free");
}

it.runIf(isRoot)("the lock and the key that root makes in a folder belong to the folder's owner", async () => {
  mkdirSync(dataDir, { mode: 0o700 });
  writeFileSync(join(home, "other"), "", { mode: 0o600 });
  chownSync(dataDir, 12345, 12345);
  (await takeLock(dataDir))();
  const settings = { STOA_SITE_URL: "https://stoa.example" };
  expect(await operateWith(settings, ["keygen", join(dataDir, "key")])).toMatchObject({ status: 0 });
  expect(readdirSync(dataDir).sort()).toEqual(["key", "lock"]);
  expect(ownersIn(dataDir)).toEqual(new Set([12345]));

  rmSync(join(dataDir, "lock"));
  linkSync(join(home, "other"), join(dataDir, "lock"));
  (await takeLock(dataDir))();
  expect(statSync(join(home, "other")).uid).toBe(0);
});

describe("a service", () => {
  it.runIf(isRoot)(
    "that root starts opens a low port and reads a private key, then is the folder's owner",
    async () => {
      const { cert, private: privateKey } = await generate([{ name: "commonName", value: "localhost" }]);
      writeFileSync(join(home, "cert"), cert);
      writeFileSync(join(home, "key"), privateKey, { mode: 0o600 });
      mkdirSync(dataDir, { mode: 0o700 });
      chownSync(dataDir, 12345, 12345);
      const port = await freeLowPort();
      const { service, database } = await start({
        STOA_PORT: String(port),
        STOA_TLS_CERT: join(home, "cert"),
        STOA_TLS_KEY: join(home, "key"),
      });
      expect(new Set([...usersOf(service.pid), ...usersOf(database), ...ownersIn(dataDir)])).toEqual(new Set([12345]));
      const status = await new Promise((resolve, reject) => {
        get({ port, path: "/readyz", rejectUnauthorized: false, agent: false }, (response) =>
          resolve(response.resume().statusCode),
        ).on("error", reject);
      });
      expect(status).toBe(200);
    },
  );

  it("stores the served ledger heads in the data folder even with an external database", async () => {
    const { config, rows } = await createDatabaseWithSchema();
    await rows("CREATE USER IF NOT EXISTS stoa_heads IDENTIFIED BY 'secret'");
    await rows(`GRANT ALL ON ${config.database}.* TO stoa_heads`);
    const url = urlOf({ ...config, user: "stoa_heads", password: "secret" });
    const running = begin({ STOA_DATABASE_URL: url });
    const { status, headers } = await fetch(`${await running.url()}/api/v1/house/receipts/1`);
    expect({ status, cache: headers.get("cache-control") }).toEqual({
      status: 200,
      cache: expect.stringContaining("immutable"),
    });
    expect(ownersIn(dataDir)).toEqual(new Set([expectOneAccount(...usersOf(running.pid), statSync(dataDir).uid)]));
  });
});
