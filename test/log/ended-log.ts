// Boards whose logs have lost their keys, for the tests of recover --log --begin-anew.
import { join } from "node:path";
import { expect } from "vitest";
import { formatVkey } from "../../src/tlog/notes/key.ts";
import type { SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { type Outcome, operateWith } from "../operator/support.ts";
import type { TestDatabase } from "../support/database.ts";
import { publishAll, startLogReplica, testOrigin } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { insertPosts } from "../support/posts.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";

export const origin = "stoa.test/log2";
export const command = ["recover", "--log", "--begin-anew", origin];

/** A board whose log has a key that is lost. */
export interface Ended {
  db: TestDatabase;
  dataDir: string;
  lost: SignerKey;
  /** The newest checkpoint. */
  last: string;
  settings: Record<string, string>;
  operate(...args: string[]): Promise<Outcome>;
}

export async function endedLog(): Promise<Ended> {
  const dataDir = scratchFolder();
  const { db, key: lost } = await createLoggedDatabase();
  await insertPosts(db, [{ communityId: 1, upvotes: 0, downvotes: 0, createdAt: Date.now() }]);
  const replica = await startLogReplica(db.config, lost, dataDir);
  await publishAll(db, replica);
  await replica.publisher.stop();
  const [head] = await db.rows<{ note: string }>("SELECT note FROM log_head");
  const settings = { STOA_DATABASE_URL: urlOf(db.config), STOA_DATA_DIR: dataDir };
  const operate = (...args: string[]) => operateWith(settings, args);
  return { db, dataDir, lost, last: head?.note ?? "", settings, operate };
}

export const makeKey = ({ dataDir }: Ended) =>
  operateWith({ STOA_LOG_ORIGIN: origin }, ["keygen", join(dataDir, "log", "key")]);

/** Checks that the new log names the old one, and will have everything that stands; and that a service goes on with it. */
export async function expectNewLog({ db, dataDir, lost, last }: Ended): Promise<void> {
  const rows = await db.rows<{ entry: string }>("SELECT entry FROM log_entries");
  const [, size, root] = last.split("\n");
  const previous = {
    origin: testOrigin,
    size: Number(size),
    root: Buffer.from(root ?? "", "base64").toString("hex"),
    vkey: formatVkey(lost),
  };
  expect(rows.map(({ entry }) => JSON.parse(entry))).toMatchObject([{ origin, previous }]);
  const { url, rest, app } = await startService({ db, config: { dataDir } });
  expect(await (await fetch(`${url}/log/checkpoint`)).text()).toMatch(/^stoa\.test\/log2\n1\n/);
  expect(await db.rows("SELECT COUNT(*) AS n FROM posts WHERE salt IS NOT NULL")).toEqual([{ n: 0 }]);
  expect(await db.rows("SELECT imported FROM log_identity")).toEqual([{ imported: "agent 0" }]);
  expect((await rest("/readyz")).body.warning).toBeUndefined();
  // Its steps are not those of the next test.
  await app.close();
}
