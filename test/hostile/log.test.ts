// The log, asked for proofs of what never comes.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { createLoggedDatabase } from "../support/logged.ts";
import { rawRequest } from "../support/raw-request.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { askRest } from "../support/service.ts";
import { startVictim, type Victim } from "./support.ts";

/** The attacker's addresses, with all the places that there are for those who wait. */
const addresses = Array.from({ length: 8 }, (_, index) => `127.0.4.${index + 1}`);
const placesOfAddress = 128;
const firstUnpublished = 1_000_000;

let victim: Victim;
beforeAll(async () => {
  const { db, boardLog } = await createLoggedDatabase();
  const keyFile = join(scratchFolder(), "key");
  writeFileSync(keyFile, boardLog.keyText as string, { mode: 0o600 });
  // Requests that are refused for their number would not be read.
  victim = await startVictim({ STOA_RATE_LIMITS: "off", STOA_LOG_KEY_FILE: keyFile }, db);
  const post = (n: number) => askRest(victim.url, "posts", { key: victim.key, body: { title: `Post ${n}` } });
  const { body } = await post(1);
  expect((await fetch(`${victim.url}/api/v1/posts/${body.post.id}/proof`)).status).toBe(200);
  // Comments with a salt whose entries never come.
  const ids = Array.from({ length: placesOfAddress }, (_, n) => `SELECT ${firstUnpublished + n} AS id`);
  await db.rows(
    `INSERT INTO comments (id, post_id, author_id, body, created_at, noted, salt)
     SELECT n.id, p.id, p.author_id, 'Never', p.created_at, 0, p.salt FROM posts p JOIN (${ids.join(" UNION ALL ")}) n
     WHERE p.id = 1`,
  );
}, 60_000);

it("the log is asked for proofs that never come, by as many as may wait and more", async () => {
  const statuses = await victim.during(() =>
    Promise.all(
      addresses.flatMap((localAddress) =>
        Array.from({ length: placesOfAddress + 32 }, async (_, n) => {
          const path = `/api/v1/comments/${firstUnpublished + (n % placesOfAddress)}/proof`;
          return (await rawRequest(victim.url + path, { localAddress })).status;
        }),
      ),
    ),
  );
  expect(new Set(statuses)).toEqual(new Set([429, 503]));
});
