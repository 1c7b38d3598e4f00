// npm run test:upgrade: an older version serves while this one migrates the database, and both serve after that. No call of
// either fails, and nothing is lost or doubled.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { makeKey, writeKeyFile } from "../../src/log/key-file.ts";
import { Load } from "../hammer/load.ts";
import { createTestDatabase } from "../support/database.ts";
import { faultsIn, ServiceProcess, underLoad, urlOf } from "../support/process.ts";
import { PublishedLog } from "../support/published-log.ts";
import { askRest } from "../support/service.ts";
import { takeVersionBefore } from "./older-version.ts";

/** The version before this migration is tried; STOA_UPGRADE_FROM names another one. */
const migration = process.env.STOA_UPGRADE_FROM ?? "0017_post_counts";
const operatorToken = "upgrade-operator-token-0123456789-abcdef";

it(`the version before ${migration} serves while this one migrates, and beside it`, async () => {
  const older = takeVersionBefore(migration);
  onTestFinished(() => older.remove());
  const db = await createTestDatabase();
  const settings = { ...underLoad, STOA_DATABASE_URL: urlOf(db.config), STOA_OPERATOR_TOKEN: operatorToken };
  const start = async (program?: string, more: Record<string, string> = {}) => {
    const service = new ServiceProcess({ ...settings, ...more }, program === undefined ? {} : { program });
    onTestFinished(() => service.end("SIGKILL"));
    return { service, url: await service.url() };
  };
  const versions = () => db.rows<{ name: string }>("SELECT name FROM schema_migrations ORDER BY version DESC");

  const before = await start(older.program);
  let urls = [before.url];
  const load = new Load({ urls: () => urls, operatorToken, seed: 20_261_122, mixesVersions: true });
  await load.more(60, 3);
  expect((await versions()).map(({ name }) => name)).not.toContain(migration);

  const now = await start();
  expect((await versions()).map(({ name }) => name)).toContain(migration);
  urls = [before.url, now.url];
  await load.more(60, 3);
  for (const url of urls) expect((await askRest(url, "posts?limit=5")).body.posts).toHaveLength(5);

  // Its running calls finish before it is stopped.
  urls = [now.url];
  await load.more(20, 2);
  await before.service.end("SIGTERM");
  expect(await before.service.exited).toBe(0);

  // The log begins when all have this version. It imports what the older version has written.
  const keyFile = join(mkdtempSync(join(tmpdir(), "stoa-upgrade-")), "key");
  onTestFinished(() => rmSync(dirname(keyFile), { recursive: true }));
  await writeKeyFile(keyFile, await makeKey("stoa.example/log"));
  const signer = await start(undefined, { STOA_LOG_KEY_FILE: keyFile });
  urls = [now.url, signer.url];
  await load.more(20, 2);
  await load.stop();
  expect(await new PublishedLog(db, () => urls).faults()).toEqual([]);
  expect(await load.check(db)).toEqual([]);
  expect(Object.keys(load.tally.statuses).filter((status) => Number(status) >= 500)).toEqual([]);
  for (const { service } of [before, now, signer]) expect(faultsIn(service.output)).toEqual([]);
});
