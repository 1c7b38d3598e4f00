// What everybody can read of the log, over REST: checkpoint, tiles, bundles, proofs, entries.
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { LogService } from "../../gen/stoa/v1/log_service_pb.js";
import { openCheckpoint } from "../../src/tlog/notes/checkpoint.ts";
import type { ExpectedItem } from "../../src/tlog/proofs/expected-item.ts";
import { verifyItem } from "../../src/tlog/proofs/verify-item.ts";
import { parseBundle } from "../../src/tlog/tiles/bundle.ts";
import { formatTilePath } from "../../src/tlog/tiles/tile-path.ts";
import { TiledTree } from "../../src/tlog/tiles/tiled-tree.ts";
import { untilPublished } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { insertPosts } from "../support/posts.ts";
import { rawRequest } from "../support/raw-request.ts";
import { startService } from "../support/service.ts";
import { functions, hasher } from "../tlog/node-functions.ts";

const { db, key, boardLog } = await createLoggedDatabase();
// They are imported, and fill more than a tile.
const old = { communityId: 1, upvotes: 0, downvotes: 0, createdAt: 0 };
await insertPosts(db, Array(300).fill(old));
const service = await startService({ db, config: { boardLog } });
const zeno = (await service.register("Zeno")).key;
await untilPublished(service);

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const get = (path: string, headers: Record<string, string> = {}) => fetch(service.url + path, { headers });
const bytesOf = async (path: string) => new Uint8Array(await (await get(path)).arrayBuffer());
const make = async (path: string, body: object) => (await service.rest(path, { key: zeno, body })).body;

async function checkpoint() {
  return (await openCheckpoint(await bytesOf("/log/checkpoint"), [key], functions.verifyEd25519)).checkpoint;
}

/** Verifies a proof, as its reader does, who asks again when what is proved takes more than some seconds to be published. */
async function prove(path: string, item: ExpectedItem) {
  let response = await get(`/api/v1/${path}`);
  while (response.status === 503 && response.headers.has("retry-after")) response = await get(`/api/v1/${path}`);
  const proof = new Uint8Array(await response.arrayBuffer());
  return verifyItem(proof, item, [key], functions);
}

describe("a proof", () => {
  it("of a post waits until it is published, and proves its text; one of its author proves the name", async () => {
    const { post } = await make("posts", { title: "A race", body: "Achilles never catches up.", community: "general" });
    const shown = { title: "A race", body: "Achilles never catches up." };
    const proved = await prove(`posts/${post.id}/proof`, { kind: "post", id: post.id, shown });
    const { agent } = proved.content as { agent: number };
    await prove("agents/zeno/proof", { kind: "agent", id: agent, shown: { name: "Zeno" } });
    const response = await get(`/api/v1/posts/${post.id}/proof`);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-cache");
  });

  it("is of what its own request asks for, however many ask for others meanwhile", async () => {
    const titles = Array.from({ length: 12 }, (_, at) => `At once ${at}`);
    const posts = await Promise.all(titles.map(async (title) => (await make("posts", { title })).post));
    const client = service.connect(LogService, "grpc");
    await Promise.all(
      posts.map(async ({ id, title }) => {
        await prove(`posts/${id}/proof`, { kind: "post", id, shown: { title } });
        const { proof } = await client.getProof({ item: { case: "postId", value: BigInt(id) } });
        await verifyItem(proof?.data as Uint8Array, { kind: "post", id, shown: { title } }, [key], functions);
      }),
    );
    const entries = Array.from({ length: 12 }, (_, index) => index);
    await Promise.all(entries.map((index) => prove(`log/entries/${index}/proof`, { kind: "entry", index })));
  });

  it("is not given of what the log does not have", async () => {
    // Each kind of item once, and each parameter at its borders.
    const answers: Record<string, [string, number, string?]> = {
      "posts/999999/proof": ["not_found", 404],
      "posts/0/proof": ["bad_input", 400, "post_id"],
      "posts/1/proof?of=votes": ["bad_input", 400, "of"],
      "comments/999999/proof?of=removal": ["not_found", 404],
      "agents/nobody/proof": ["not_found", 404],
      "agents/Zeno/proof?of=removal": ["not_found", 404],
      "communities/nowhere/proof": ["not_found", 404],
      "house/receipts/999999/proof": ["not_found", 404],
      "log/entries/0/proof?of=text&of=text": ["bad_input", 400, "of"],
      "log/entries/999999/proof": ["not_found", 404],
      "log/entries/9007199254740992/proof": ["bad_input", 400, "index"],
    };
    for (const [path, [error, status, field]] of Object.entries(answers)) {
      const reply = await service.rest(path);
      expect([path, reply.body.error, reply.status, reply.body.field]).toEqual([path, error, status, field]);
      expect([path, reply.headers.get("cache-control")]).toEqual([path, "no-store"]);
    }
  });
});

it("the checkpoint has an ETag, by which a reader that has it gets no body", async () => {
  const first = await get("/log/checkpoint");
  expect(first.headers.get("content-type")).toBe("text/plain; charset=utf-8");
  const etag = first.headers.get("etag") ?? "";
  expect(etag).not.toBe("");
  expect((await checkpoint()).origin).toBe(key.name);
  const again = await get("/log/checkpoint", { "if-none-match": etag });
  expect([again.status, await again.text()]).toEqual([304, ""]);
});

describe("tiles and bundles", () => {
  it("hash to the root of the checkpoint, also over the end of a full tile", async () => {
    const tree = await checkpoint();
    expect(tree.size).toBeGreaterThan(300);
    const tiled = await TiledTree.open(tree, (tile) => bytesOf(`/log/${formatTilePath(tile)}`), functions.sha256);
    const rest = tree.size % 256;
    for (const [path, from, width] of [
      ["000", 0, 256],
      [`001.p/${rest}`, 256, rest],
      ["000.p/7", 0, 7],
    ] as const) {
      const entries = parseBundle(await bytesOf(`/log/tile/entries/${path}`), width);
      for (const [at, entry] of entries.entries()) {
        expect(hex(await tiled.subtree({ height: 0, index: from + at }))).toBe(hex(hasher.leaf(entry)));
      }
    }
  });

  it("are those that were verified, although the database has others meanwhile", async () => {
    const { db } = service;
    const [path, entries] = ["/log/tile/0/000", "/log/tile/entries/000"];
    const before = [await bytesOf(path), await bytesOf(entries)];
    expect(await bytesOf(path)).toEqual(before[0]);
    const change = "UPDATE log_tiles SET hashes = ? WHERE level = 0 AND n = 0";
    await db.rows(change, [Buffer.alloc(8_192)]);
    expect([await bytesOf(path), await bytesOf(entries)]).toEqual(before);
    await db.rows(change, [Buffer.from(before[0] as Uint8Array)]);
    expect(await bytesOf(path)).toEqual(before[0]);
  });

  it("may be cached for ever; bundles are compressed for those who ask, hashes are not", async () => {
    for (const path of ["/log/tile/0/000", "/log/tile/entries/000", "/log/tile/0/000.p/3", "/log/tile/1/000.p/1"]) {
      const { headers } = await get(path);
      expect([path, headers.get("content-type"), headers.get("cache-control")]).toEqual([
        path,
        "application/octet-stream",
        "public, max-age=31536000, immutable",
      ]);
      const known = await get(path, { "if-none-match": headers.get("etag") ?? "" });
      expect([known.status, known.headers.get("cache-control")]).toEqual([304, headers.get("cache-control")]);
    }
    const zipped = await rawRequest(`${service.url}/log/tile/entries/000`, {
      headers: { "accept-encoding": "gzip" },
    });
    expect(zipped.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
    expect(new Uint8Array(gunzipSync(zipped.body))).toEqual(await bytesOf("/log/tile/entries/000"));
    // Both forms have the same tag, so it is a weak one.
    expect(zipped.headers.etag).toMatch(/^W\/"[^"]+"$/);
    const hashes = await get("/log/tile/0/000", { "accept-encoding": "gzip" });
    expect(hashes.headers.get("content-encoding")).toBeNull();
  });

  it("whose path is malformed, empty, not in its shortest form or beyond the tree are not found", async () => {
    const { size } = await checkpoint();
    // Each kind of malformed path once, and the first ones beyond the tree.
    const paths = [
      ...[
        "",
        "0/0",
        "0/000.p/0",
        "0/000.p/256",
        "0/000.p/01",
        "00/000",
        "0/x000/000",
        "-1/000",
        "64/000",
        "entries/000/",
      ],
      ...["other/000", "0/%30%30%30%2fx", "%zz", "entries/%C3", `0/${"x001/".repeat(400)}000`],
      ...[`0/001.p/${(size % 256) + 1}`, "1/000", "2/000.p/1", "0/x999/x999/x999/x999/999"],
    ];
    const answers = await Promise.all(
      paths.map(async (path) => {
        const { status, headers } = await fetch(`${service.url}/log/tile/${path}`, { redirect: "manual" });
        return [path, status, headers.get("cache-control")];
      }),
    );
    // A cache that kept the 404 would hide the tile once it is there.
    expect(answers).toEqual(paths.map((path) => [path, 404, "no-store"]));
  });
});

describe("the list of entries", () => {
  it("goes through the log in pages, and shows the exact texts with their leaves", async () => {
    const first = await service.rest("log/entries?limit=2");
    expect(Object.keys(first.body)).toEqual(["ok", "size", "entries", "next_from"]);
    expect(first.body.entries.map(({ index }: { index: number }) => index)).toEqual([0, 1]);
    const { body } = await service.rest(`log/entries?limit=2&from=${first.body.next_from}`);
    const bundle = parseBundle(await bytesOf("/log/tile/entries/000.p/4"), 4);
    const shown = [...first.body.entries, ...body.entries];
    expect(shown.map(({ entry }) => entry)).toEqual(bundle.map((entry) => Buffer.from(entry).toString()));
    expect(shown.map((each) => each.leaf_hash)).toEqual(bundle.map((entry) => hex(hasher.leaf(entry))));
    const last = await service.rest(`log/entries?from=${body.size - 1}`);
    expect([last.body.entries.length, last.body.next_from]).toEqual([1, null]);
  });

  it("names the parameter that is out of its rules", async () => {
    const fields = {
      "item=post": "item_id",
      "item_id=3": "item",
      "item=log&item_id=1": "item",
      "item=post&item_id=0": "item_id",
      "item=post&item=post&item_id=1": "item",
      "limit=257": "limit",
      "limit=0": "limit",
      "from=-1": "from",
      "from=9007199254740992": "from",
    };
    for (const [query, field] of Object.entries(fields)) {
      const { status, body } = await service.rest(`log/entries?${query}`);
      expect([query, status, body.error, body.field]).toEqual([query, 400, "bad_input", field]);
    }
  });
});

it("a board without a log has none of this", async () => {
  const { rest } = await startService();
  for (const path of [
    "/log/checkpoint",
    "/log/policy",
    "/log/tile/0/000.p/1",
    "/api/v1/log/entries",
    "/api/v1/posts/1/proof",
  ]) {
    const { status, body } = await rest(path);
    expect([path, status, body]).toEqual([
      path,
      404,
      { ok: false, error: "not_found", message: "This board has no log." },
    ]);
  }
});
