import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { defaultStateFile, StateFile } from "../../src/cli/state.ts";
import { formatVkey } from "../../src/tlog/notes/key.ts";
import { formatBundle } from "../../src/tlog/tiles/bundle.ts";
import { FakeLog, type FakeSite, firstEntry, origin, startSite } from "../client/fake-log.ts";
import { otherHash } from "../receipt/chain.ts";
import { serveHttp } from "../support/http-server.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { testKey } from "../tlog/node-functions.ts";
import { at, sampleEntries, sampleKey, texts } from "../tlog/sample-log.ts";
import { runStoa, startProcess } from "./stoa.ts";

const vkey = formatVkey(sampleKey);
const entryTexts = sampleEntries.map(({ entry }) => entry);

/** Makes a service show an item and the proof of an entry. */
async function show(site: FakeSite, path: string, item: object, index: number): Promise<void> {
  site.pages.set(`/api/v1/${path}`, JSON.stringify({ ok: true, ...item }));
  site.pages.set(`/api/v1/${path}/proof`, await site.log.proof(index, sampleEntries[index]?.text));
}

const post = { ...texts.edited, author: { name: "Zeno", resident: null }, community: "general", removed: null };

/** Makes the service list entries as those of the post. */
function listEntries(site: FakeSite, ...indexes: number[]): void {
  const entries = indexes.map((index) => ({ index, entry: entryTexts[index] }));
  site.pages.set("/api/v1/log/entries?item=post&item_id=12", JSON.stringify({ ok: true, entries }));
}

const sound = await startSite(await FakeLog.of(entryTexts));
await show(sound, "posts/12", { post }, at.edit);
await show(sound, "comments/3", { comment: { ...texts.comment, author: { name: "Zeno" } } }, at.comment);
await show(sound, "agents/Zeno", { agent: texts.agent }, at.agent);
await show(sound, "communities/general", { community: texts.community }, at.community);
await show(sound, "house/receipts/9", { receipt: { seq: 9, hash: "ab".repeat(32) } }, at.receipt);
sound.pages.set("/api/v1/log/entries/10/proof", await sound.log.proof(at.unknown));
listEntries(sound, at.post, at.edit);
sound.pages.set(`/api/v1/log/entries/${at.post}/proof`, await sound.log.proof(at.post));
sound.pages.set("/api/v1/posts/12/proof?of=removal", await sound.log.proof(at.act));

let site: FakeSite;
beforeEach(async () => {
  site = await startSite(sound.log);
  for (const [path, page] of sound.pages) site.pages.set(path, page);
});

const prove = (...args: string[]) => runStoa(["prove", ...args], scratchFolder());
async function proveJson(...args: string[]) {
  const { status, stdout, stderr } = await prove("--json", ...args);
  return { status, stderr, ...JSON.parse(stdout) };
}

describe("stoa prove", () => {
  it("proves a post and its author, as a process", async () => {
    const { status, stdout, stderr } = await startProcess(["prove", `${site.url}/posts/12`], scratchFolder()).done;
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: `stoa: the log says that its key is ${vkey}; compare it with one that you trust\n`,
    });
    const [first, content] = stdout.split("\n");
    const entry = JSON.parse(entryTexts[at.edit] as string);
    expect(first).toBe(
      `posts/12 of ${site.url} is proved: edit, by Zeno, ${entry.ts}, entry ${at.edit} of ${entryTexts.length} in ${origin}`,
    );
    expect(JSON.parse(content as string)).toEqual(texts.edited);
  });

  it("finds the root of a service that is below a path, from the address of a page or in the API", async () => {
    const { url } = await serveHttp(async ({ url = "" }, response) => {
      const reply = await fetch(site.url + url.replace(/^\/a\/board(?=\/)/, ""));
      response.writeHead(reply.status).end(await reply.bytes());
    });
    for (const path of ["posts/12", "api/v1/posts/12/proof"]) {
      const proved = await proveJson(`${url}/a/board/${path}`);
      expect(proved).toMatchObject({ ok: true, url: `${url}/a/board`, item: "posts/12" });
    }
  });

  it("reports it as one JSON object", async () => {
    expect(await proveJson(site.url, "posts/12", "--log-key", vkey)).toEqual({
      status: 0,
      stderr: "",
      ok: true,
      url: site.url,
      item: "posts/12",
      origin,
      vkey,
      index: at.edit,
      size: entryTexts.length,
      type: "edit",
      ts: JSON.parse(entryTexts[at.edit] as string).ts,
      content: texts.edited,
      author: { id: 4, name: "Zeno" },
      reason: null,
    });
  });

  it.each([
    ["posts/12", "edit"],
    ["api/v1/posts/12/proof", "edit"],
    ["comments/3", "comment"],
    ["agents/%5Aeno", "agent"],
    ["communities/general", "community"],
    ["c/general", "community"],
    ["house/receipts/9", "receipt"],
    ["log/entries/10", "key"],
    ["posts/12", "act", "--removal"],
  ])("knows %s as an item, and as a part of its address: %s", async (item, type, ...more) => {
    for (const place of [[site.url, item], [`${site.url}/${item}/`]])
      expect(await proveJson(...place, ...more)).toMatchObject({ status: 0, ok: true, type });
  });

  const by = (name: string) => ({ post: { ...post, author: { name } } });

  it("proves what an agent said that is erased, without its author", async () => {
    site.pages.delete("/api/v1/agents/Zeno/proof");
    await show(site, "posts/12", by("[removed]"), at.edit);
    expect(await proveJson(site.url, "posts/12")).toMatchObject({ status: 0, ok: true, author: null });
  });

  it("proves a removed post whose newest edit was lost with a restored database", async () => {
    const created_at = JSON.parse(entryTexts[at.post] as string).ts;
    const removed = { by: "author", reason: null, at: created_at };
    site.pages.set(
      "/api/v1/posts/12",
      JSON.stringify({ ok: true, post: { created_at, edited_at: created_at, removed } }),
    );
    site.pages.set("/api/v1/posts/12/proof", await site.log.proof(at.edit));
    expect(await proveJson(site.url, "posts/12")).toMatchObject({ status: 0, ok: true, content: null });
  });

  it("asks again if the author was erased meanwhile", async () => {
    site.intercept = (path, response) => {
      if (path !== "/api/v1/agents/Zeno/proof") return false;
      site.pages.set("/api/v1/posts/12", JSON.stringify({ ok: true, ...by("[removed]") }));
      return !!response.writeHead(404).end();
    };
    expect(await proveJson(site.url, "posts/12")).toMatchObject({ status: 0, ok: true, author: null });
  });

  /** Serves the proof of the post in another log. */
  const proveIn = async (log: FakeLog) =>
    site.pages.set("/api/v1/posts/12/proof", await log.proof(at.edit, sampleEntries[at.edit]?.text));
  const defects: [string, string, () => unknown][] = [
    ["shows the text and proves an older one", "other_content", () => show(site, "posts/12", { post }, at.post)],
    ["shows another author", "not_logged", () => show(site, "posts/12", by("Plato"), at.edit)],
    [
      "proves another agent as the author",
      "other_content",
      async () => {
        await show(site, "agents/Plato", { agent: { ...texts.agent, name: "Plato" } }, at.agent);
        await show(site, "posts/12", by("Plato"), at.edit);
      },
    ],
    [
      "shows another community",
      "other_content",
      async () => {
        await show(site, "communities/races", { community: texts.community }, at.community);
        await show(site, "posts/12", { post: { ...post, community: "races" } }, at.edit);
      },
    ],
    ["lists no creation of the post", "not_logged", () => listEntries(site, at.edit)],
    [
      "proves something else as the creation",
      "other_item",
      async () => site.pages.set(`/api/v1/log/entries/${at.post}/proof`, await site.log.proof(at.edit)),
    ],
    [
      "withholds the text in the proof",
      "content_withheld",
      async () => site.pages.set("/api/v1/posts/12/proof", await site.log.proof(at.edit)),
    ],
    ["shows it and has no proof", "not_logged", () => site.pages.delete("/api/v1/posts/12/proof")],
    [
      "proves it in the tree of another key",
      "unsigned",
      async () => proveIn(await FakeLog.of(entryTexts, await testKey(origin, 8))),
    ],
    [
      "shows a first entry with its key, and has another one in the tree",
      "wrong_tile",
      async () => {
        const served = formatBundle(site.log.entries);
        site.log = await FakeLog.of([firstEntry(await testKey(origin, 8)), ...entryTexts.slice(1)]);
        site.intercept = (path, response) => path.includes("/tile/entries/000") && !!response.end(served);
      },
    ],
    [
      "proves it in a tree that the log does not have",
      "not_consistent",
      async () => proveIn(await FakeLog.of([...entryTexts.slice(0, -1), "another"])),
    ],
    [
      "proves it in a tree that the log does not have yet",
      "shrunk",
      async () => proveIn(await FakeLog.of([...entryTexts, "another"])),
    ],
  ];

  it.each(defects)("names the defect if the service %s: %s", async (_, fault, change) => {
    await change();
    expect(await proveJson(site.url, "posts/12")).toMatchObject({
      status: 1,
      ok: false,
      content: null,
      reason: expect.stringMatching(`^${fault}: [\\x20-\\x7e]+$`),
    });
  });

  it.each([
    ["agents/Plato", { agent: texts.agent }, at.agent],
    ["communities/General", { community: texts.community }, at.community],
  ])("proves no other item than %s", async (path, item, index) => {
    await show(site, path, item, index);
    expect(await proveJson(site.url, path)).toMatchObject({
      status: 1,
      ok: false,
      reason: expect.stringMatching("^other_item: the service shows another (agent|community)$"),
    });
  });

  it("proves an agent whose name is given in another case", async () => {
    await show(site, "agents/zENO", { agent: texts.agent }, at.agent);
    expect(await proveJson(site.url, "agents/zENO")).toMatchObject({ status: 0, content: texts.agent });
  });

  it("says it in one line for people", async () => {
    await show(site, "house/receipts/9", { receipt: { seq: 9, hash: otherHash } }, at.receipt);
    expect(await prove(site.url, "house/receipts/9", "--log-key", vkey)).toEqual({
      status: 1,
      stdout: `house/receipts/9 of ${site.url} is not proved: other_item: the proof is of another item\n`,
      stderr: "",
    });
  });

  it("takes key and tree from what stoa verify remembers", async () => {
    const home = scratchFolder();
    const path = defaultStateFile(site.url, { XDG_STATE_HOME: join(home, ".local/state") });
    const state = new StateFile(path, site.url);
    const remember = (log: FakeLog) => {
      state.prepare();
      state.save(
        { seq: 1, hash: otherHash },
        { vkey: formatVkey(log.key), checkpoint: Buffer.from(log.note).toString() },
      );
    };
    const run = () => runStoa(["prove", site.url, "agents/Zeno"], home);
    remember(site.log);
    const before = readFileSync(path, "utf8");
    expect(await run()).toMatchObject({ status: 0, stderr: "" });
    expect(readFileSync(path, "utf8")).toBe(before);

    remember(await FakeLog.of([...entryTexts.slice(0, 4), "another"]));
    expect(await run()).toMatchObject({ status: 1, stdout: expect.stringContaining("not proved: not_consistent: ") });
    site.intercept = (path, response) => path.startsWith("/log") && !!response.writeHead(404).end();
    expect(await run()).toMatchObject({ status: 1, stdout: expect.stringContaining("not proved: gone: ") });
  });

  it("exits with 3 if there is nothing to prove", async () => {
    const unproved = async (item: string, reason: string, ...more: string[]) =>
      expect(await proveJson(site.url, item, ...more)).toMatchObject({
        status: 3,
        ok: null,
        reason: expect.stringContaining(reason),
      });
    await unproved("posts/13", "unusable: the answer has status 404");
    await unproved("log/entries/11", "refused: the log has nothing like that");
    site.pages.delete("/api/v1/posts/12/proof?of=removal");
    await unproved("posts/12", "refused: the log has nothing like that", "--removal");
    site.pages.set("/api/v1/posts/12", '{"post":{"title":1}}');
    await unproved("posts/12", "unusable: the answer has no body");
    site.intercept = (path, response) => path.startsWith("/log") && !!response.writeHead(404).end();
    await unproved("posts/12", "unusable: there is no log at this address");
  });
});
