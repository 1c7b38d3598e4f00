// stoa verify, prove and mirror, and the client, against a real service with a log.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createStoaClient, LogFinding } from "../../src/client/index.ts";
import { formatVkey } from "../../src/tlog/notes/key.ts";
import { parseProof } from "../../src/tlog/proofs/tlog-proof.ts";
import { collect } from "../client/fake-stoa.ts";
import { untilPublished } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { insertPosts } from "../support/posts.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";
import { testKey } from "../tlog/node-functions.ts";
import { runStoa } from "./stoa.ts";

const home = scratchFolder();
const stoa = async (...args: string[]) => {
  const { status, stdout, stderr } = await runStoa([...args, "--json"], home);
  return { status, stderr, ...JSON.parse(stdout) };
};

const { db, key, boardLog } = await createLoggedDatabase();
// They are imported, and fill more than a page of entries.
await insertPosts(db, Array(260).fill({ communityId: 1, upvotes: 0, downvotes: 0, createdAt: 0 }));
const service = await startService({ db, config: { boardLog } });
const zeno = await service.register("zeno");
const create = (path: string, body: object) => service.rest(path, { key: zeno.key, body });
await create("communities", { name: "races", title: "Races", description: "Slow and fast" });
const race = { title: "A race", body: "Achilles — 😀\n", community: "races" };
const post: number = (await create("posts", race)).body.post.id;
await create(`posts/${post}/comments`, { body: "He never catches up." });
await untilPublished(service);
const client = createStoaClient(service.url);

describe("the log of a service", () => {
  it.each([
    `posts/${post}`,
    "posts/1",
    "comments/1",
    "communities/races",
    "communities/general",
    "house/receipts/1",
    "log/entries/0",
    "agents/zeno",
  ])("proves %s", async (item) => {
    expect(await stoa("prove", service.url, item)).toMatchObject({ status: 0, ok: true, reason: null });
  });

  it("proves an edit, and then a deletion", async () => {
    const { key } = zeno;
    const { body } = await service.rest("posts", { key, body: { title: "Another", body: "x" } });
    const path = `posts/${body.post.id}`;
    await service.rest(path, { key, method: "PATCH", body: { body: "y" } });
    expect(await stoa("prove", service.url, path)).toMatchObject({ ok: true, type: "edit", content: { body: "y" } });
    await service.rest(path, { key, method: "DELETE" });
    expect(await stoa("prove", service.url, path)).toMatchObject({ ok: true, type: "edit", content: null });
    expect(await stoa("prove", service.url, path, "--removal")).toMatchObject({ ok: true, type: "deletion" });
  });

  it("gives proofs and a policy that verify without it", async () => {
    const [proof, policy] = [join(home, "proof"), join(home, "policy")];
    writeFileSync(proof, await (await fetch(`${service.url}/api/v1/posts/${post}/proof`)).bytes());
    writeFileSync(policy, await (await fetch(`${service.url}/log/policy`)).bytes());
    expect(await stoa("prove", "--offline", proof, "--policy", policy)).toMatchObject({
      ok: true,
      content: { title: "A race" },
    });
  });

  it("is proved by the client, which names what is wrong", async () => {
    const vkey = formatVkey(key);
    expect(await client.prove("comments/1", { vkey })).toMatchObject({
      entry: { type: "comment", id: 1 },
      content: { body: "He never catches up." },
      author: { name: zeno.name },
    });
    const { checkpoint } = await client.log.getCheckpoint({});
    expect(Buffer.from(checkpoint?.data ?? "").toString()).toMatch(/^stoa\.test\/log\n\d+\n/);
    const other = formatVkey(await testKey("stoa.test/log"));
    const failure = await client.prove("posts/1", { vkey: other }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(LogFinding);
    expect(failure).toMatchObject({ fault: "unsigned" });
    await expect(client.prove("posts/1", { vkey: "x" })).rejects.toThrow("the vkey cannot be used: the key is not");
    await expect(client.prove("votes/1")).rejects.toThrow("this is not the address of an item");
    await expect(client.prove("posts/999")).rejects.toMatchObject({ code: "not_found" });
  });

  it("is verified and mirrored", async () => {
    // The log must not grow between the two.
    await untilPublished(service);
    const { log, ...rest } = await stoa("verify", service.url);
    expect({ ...rest, log }).toMatchObject({ status: 0, ok: true, log: { vkey: formatVkey(key) } });
    expect(await stoa("mirror", service.url, scratchFolder())).toMatchObject({ status: 0, to: log.size });
  });

  it("proves when each was created and edited, and where a comment stands, also of what was edited", async () => {
    const { key } = zeno;
    const { body } = await create(`posts/${post}/comments`, { body: "x" });
    const { id } = body.comment;
    await service.rest(`comments/${id}`, { key, method: "PATCH", body: { body: "y" } });
    await untilPublished(service);
    for (const [item, change, back, name] of [
      [`posts/${post}`, "created_at = created_at - 1", "created_at = created_at + 1", "ts"],
      ["communities/races", "created_at = created_at - 1", "created_at = created_at + 1", "ts"],
      ["comments/1", "post_id = 2", `post_id = ${post}`, "post"],
      [`comments/${id}`, "parent_id = 1", "parent_id = NULL", "parent"],
      [`comments/${id}`, "edited_at = edited_at + 1", "edited_at = edited_at - 1", "ts"],
    ] as const) {
      const [table, last] = item.split("/");
      const [where, row] = [table === "communities" ? "name" : "id", last];
      await db.rows(`UPDATE ${table} SET ${change} WHERE ${where} = ?`, [row]);
      const reason = `other_content: the proven ${name} differs from the one that was shown`;
      expect(await stoa("prove", service.url, item), item).toMatchObject({ status: 1, ok: false, reason });
      await db.rows(`UPDATE ${table} SET ${back} WHERE ${where} = ?`, [row]);
      expect(await stoa("prove", service.url, item), item).toMatchObject({ status: 0 });
    }
  });

  const entriesOf = (list?: Parameters<typeof client.everyLogEntry>[0]) => collect(client.everyLogEntry(list));

  it("is read by the client in pages, each entry once, or from an index on", async () => {
    await untilPublished(service);
    const entries = await entriesOf();
    expect(entries.length).toBeGreaterThan(262);
    expect(entries.map(({ index }) => index)).toEqual(entries.map((_, at) => at));
    expect(await entriesOf({ from: 250 })).toEqual(entries.slice(250));
    expect(await entriesOf({ from: entries.length })).toEqual([]);
  });

  it("shows the client the entries of one item, the proof of the newest, and the refusal of one", async () => {
    await service.rest(`posts/${post}`, { key: zeno.key, method: "PATCH", body: { body: "He does." } });
    await untilPublished(service);
    const entries = await entriesOf({ item: "post", itemId: post });
    expect(entries.map(({ entry }) => JSON.parse(entry).type)).toEqual(["post", "edit"]);
    await expect(entriesOf({ item: "post" })).rejects.toMatchObject({ code: "bad_input" });
    const { proof } = await client.log.getProof({ item: { case: "postId", value: post } });
    expect(parseProof(proof?.data as Uint8Array).index).toBe(entries[1]?.index);
    const removal = { item: { case: "postId", value: post }, of: "removal" } as const;
    await expect(client.log.getProof(removal)).rejects.toMatchObject({ code: "not_found" });
  });

  it("is nothing to believe if a text was changed in the database", async () => {
    await db.rows("UPDATE comments SET body = 'He does.' WHERE id = 1");
    expect(await stoa("prove", service.url, "comments/1")).toMatchObject({
      status: 3,
      ok: null,
      reason: expect.stringContaining("The text of comment 1 contradicts what the log has committed to."),
    });
  });
});
