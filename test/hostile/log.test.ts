// The log, read by clients who want too much of it: odd paths, replies that nobody reads, and proofs of what never comes.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { connectFrames, frameType, get, INITIAL_WINDOW_SIZE } from "../support/http2-frames.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { rawRequest } from "../support/raw-request.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { askRest } from "../support/service.ts";
import { flood } from "./requests.ts";
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
  // More than a tile.
  for (let n = 0; n < 300; n += 30) await Promise.all(Array.from({ length: 30 }, (_, each) => post(n + each)));
  const { body } = await post(300);
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
  // Who has many places gets no more, be it by the limit of an address or because few are left.
  expect(statuses.filter((status) => status !== 429 && status !== 503)).toEqual([]);
  expect(statuses).toContain(503);
});

const tiles = ["0/000", "entries/000", "0/000.p/9", "entries/000.p/9", "1/000.p/1", "entries/001.p/2"];

it("the log is read by odd paths, numbers, methods, ranges, conditions and encodings", {
  timeout: 120_000,
}, async () => {
  const odd = [
    "",
    "..",
    "0/0",
    "-1/000",
    "64/000",
    "0/000.p/256",
    "0/000.p/9".repeat(50),
    "63/x999/x999/x999/x999/x999/999.p/255",
  ];
  odd.push("entries/002", "0%2F000", "0/000%00", "entries//000", `0/${"x000/".repeat(1_000)}000`);
  const numbers = ["0", "-1", "1e3", "9007199254740991", "9".repeat(5_000), "%00"];
  const items = ["posts", "comments", "house/receipts", "log/entries"].flatMap((of) =>
    numbers.map((n) => `${of}/${n}`),
  );
  const lists = ["item", "item_id", "from", "limit"].flatMap((name) =>
    numbers.map((n) => `item=post&item_id=1&${name}=${n}`),
  );
  const paths = [
    ...["checkpoint", "policy", "", "tile/", ...[...tiles, ...odd].map((path) => `tile/${path}`)].map(
      (path) => `/log/${path}`,
    ),
    ...["agents/neighbour", `agents/${"x".repeat(5_000)}`, ...items].flatMap((item) =>
      ["", "?of=removal", "?of=%00"].map((query) => `/api/v1/${item}/proof${query}`),
    ),
    ...lists.map((query) => `/api/v1/log/entries?${query}`),
  ];
  const variants = [
    {},
    { method: "POST", body: "x".repeat(1_000) },
    { headers: { range: `bytes=${"0-1,".repeat(2_000)}0-1` } },
    { headers: { "if-none-match": `"x", ${'W/"y", '.repeat(1_000)}*`, "if-match": '"x"' } },
    { headers: { "accept-encoding": "gzip, br, zstd, *;q=0.001" } },
  ];
  const asks = variants.flatMap((variant) => paths.map((path) => ({ path, ...variant })));
  await flood(victim, asks, [304, 307, 405]);
});

it("the log is asked for by many who read nothing, also compressed", { timeout: 120_000 }, async () => {
  await victim.during(async () => {
    const wanted = [...tiles.map((path) => `/log/tile/${path}`), "/log/checkpoint", "/api/v1/log/entries?limit=256"];
    const connections = Array.from({ length: 48 }, (_, index) => {
      const connection = connectFrames(victim.port, { [INITIAL_WINDOW_SIZE]: 0 });
      const encoding = ["gzip", "br", "identity"][index % 3] as string;
      const requests = Array.from({ length: 100 }, (_, each) =>
        get(2 * each + 1, wanted[(each + index) % wanted.length] as string, { "accept-encoding": encoding }),
      );
      connection.socket.write(Buffer.concat(requests));
      return connection;
    });
    await Promise.all(connections.map(({ received }) => received(({ type }) => type === frameType.headers)));
    // Whoever asks now waits behind what is unsent.
    const statuses = new Set<number | undefined>();
    for (let round = 0; round < 100; round++) {
      const replies = await Promise.all(wanted.map((path) => rawRequest(victim.url + path)));
      for (const { status } of replies) statuses.add(status);
    }
    expect(statuses).toContain(200);
    for (const { socket } of connections) socket.destroy();
  });
});
