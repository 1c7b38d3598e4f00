// npm run test:proxies: the log, read through each proxy while it grows. Nothing comes from before the growth.
import { beforeAll, describe, expect, it } from "vitest";
import { openCheckpoint } from "../../src/tlog/notes/checkpoint.ts";
import type { SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { parseBundle } from "../../src/tlog/tiles/bundle.ts";
import { type Bundle, formatTilePath, type Tile } from "../../src/tlog/tiles/tile-path.ts";
import { TiledTree } from "../../src/tlog/tiles/tiled-tree.ts";
import type { Tree } from "../../src/tlog/tree/proofs.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { type Service, startService } from "../support/service.ts";
import { functions, hasher } from "../tlog/node-functions.ts";
import { type Asked, type AskOptions, ask } from "./client.ts";
import { proxyNames } from "./examples.ts";
import { startProxy } from "./proxy.ts";

const forEver = "public, max-age=31536000, immutable";
/** How often each thing is read. A proxy that keeps a reply gives it again, and the replicas take turns. */
const reads = 8;

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

describe.each(proxyNames)("the log behind %s", (name) => {
  let replicas: [Service, Service];
  let key: SignerKey;
  let site: { port: number; ca: string };
  let author: string;

  beforeAll(async () => {
    const logged = await createLoggedDatabase();
    key = logged.key;
    const config = { trustProxy: ["loopback"], siteUrl: "https://board.example", boardLog: logged.boardLog };
    const first = await startService({ config, db: logged.db });
    replicas = [first, await startService({ config, db: logged.db })];
    const addresses = replicas.map(({ url }) => new URL(url).host);
    site = await startProxy(name, addresses);
    author = (await first.register()).key;
  });

  const get = (path: string, options?: AskOptions) => ask(site, `/log/${path}`, options);
  const repeatedly = (path: string, options?: AskOptions) =>
    Promise.all(Array.from({ length: reads }, () => get(path, options)));
  const treeOf = async ({ bytes }: Asked): Promise<Tree> =>
    (await openCheckpoint(bytes, [key], functions.verifyEd25519)).checkpoint;
  const seen = ({ status, headers }: Asked) => [status, headers["cache-control"]];

  /** Adds posts to the board, and waits until both replicas have published their entries. */
  async function grow(count: number): Promise<void> {
    const [{ rest }] = replicas;
    const post = async (n: number) => (await rest("posts", { key: author, body: { title: `Post ${n}` } })).body.post.id;
    await Promise.all(Array.from({ length: count - 1 }, (_, n) => post(n)));
    // Its entry comes after theirs, and its proof waits until it is published.
    const last = await post(count);
    for (const { url } of replicas) expect((await fetch(`${url}/api/v1/posts/${last}/proof`)).status).toBe(200);
  }

  it("is as new as at the replicas: checkpoint, partial tiles, and tiles that were not there before", async () => {
    let { size } = await treeOf(await get("checkpoint"));
    for (const count of [5, 60, 300]) {
      const before = await get("checkpoint");
      const width = Math.min(size + count, 256);
      const next = ([0, "entries"] as const).map((level) => formatTilePath({ level, index: 0, width } as Tile));
      for (const path of next) {
        for (const missing of await repeatedly(path)) expect([path, ...seen(missing)]).toEqual([path, 404, "no-store"]);
      }
      await grow(count);
      const known = { headers: { "if-none-match": String(before.headers.etag) } };
      for (const checkpoint of await repeatedly("checkpoint", known)) {
        expect(seen(checkpoint)).toEqual([200, "no-cache"]);
        expect((await treeOf(checkpoint)).size).toBeGreaterThanOrEqual(size + count);
      }
      for (const path of next) {
        for (const tile of await repeatedly(path)) expect([path, ...seen(tile)]).toEqual([path, 200, forEver]);
      }
      const tree = await treeOf(await get("checkpoint"));
      const read = async (tile: Tile | Bundle) => (await get(formatTilePath(tile))).bytes;
      const tiled = await TiledTree.open(tree, read, functions.sha256);
      const entries = parseBundle(await read({ level: "entries", index: 0, width }), width);
      for (const [index, entry] of entries.entries()) {
        expect(hex(await tiled.subtree({ height: 0, index }))).toBe(hex(hasher.leaf(entry)));
      }
      size = tree.size;
    }
  });
});
