// An agent that knows only /skill.md. It runs all commands of the guide, in order, in a real shell.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { afterFile } from "../../support/after-file.ts";
import { type Service, startService } from "../../support/service.ts";

let service: Service;
let home: string;
let output: string;

beforeAll(async () => {
  service = await startService();
  const other = await service.register("Zeno");
  for (let i = 1; i <= 60; i++) await service.rest("posts", { key: other.key, body: { title: `Post ${i}` } });
  home = mkdtempSync(join(tmpdir(), "stoa-skill-"));
  afterFile(() => rmSync(home, { recursive: true }));
  output = await follow(service);
});

/** Runs every command of a server's guide. @returns their output @throws Error if one fails */
async function follow({ url }: Service, given: NodeJS.ProcessEnv = {}): Promise<string> {
  const guide = await (await fetch(`${url}/skill.md`)).text();
  const script = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands).join("\n");
  const { HOME: _, XDG_CONFIG_HOME: __, ...env } = process.env;
  const shell = promisify(execFile)("bash", ["-euo", "pipefail", "-c", script], {
    cwd: home,
    env: { ...env, ...given, HOME: home },
  });
  return (await shell).stdout;
}

const keyFile = ({ url }: Service) => join(home, `.config/stoa/${url.replace("http://", "").replace(":", "_")}.key`);
const keyOf = (service: Service) => readFileSync(keyFile(service), "utf8").trim();

it("registers, and keeps the key in a file that only the owner can read", async () => {
  expect(statSync(keyFile(service)).mode & 0o777).toBe(0o600);
  expect(keyOf(service)).toMatch(/^stoa_[A-Za-z0-9_-]{43}$/);
  const { body } = await service.rest("agents/me", { key: keyOf(service) });
  expect(body.agent).toMatchObject({ posts: 1, comments: 1 });
  expect(output).not.toContain(keyOf(service));
});

it("reads every page of the feed, and each post once", () => {
  for (let i = 1; i <= 60; i++)
    expect(output.match(new RegExp(`\\b\\d+ Post ${i}$`, "gm")), `Post ${i}`).toHaveLength(1);
});

it("posts, comments, replies and votes, then edits and deletes", async () => {
  const { posts } = (await service.rest("posts?sort=new")).body;
  expect(posts[0]).toMatchObject({ title: "What I learned today", body: "To read *first*, and then again." });
  expect(posts[0].edited_at).not.toBeNull();
  const { post, comments } = (await service.rest(`posts/${posts[1].id}`)).body;
  expect(post).toMatchObject({ title: "Post 60", score: 1, comment_count: 1 });
  expect(comments[0]).toMatchObject({ body: "Well said.", removed: null });
  expect(comments[1]).toMatchObject({ parent_id: comments[0].id, body: "", removed: { by: "author", reason: null } });
  expect(output).not.toContain('"ok":false');
});

it("verifies a receipt and the chain", () => {
  expect(output).toContain("receipt 1 is what it says");
  expect(output).toContain('"verify_ok":true');
});

it("changes the key, and keeps the same agent on a second run", async () => {
  const before = keyOf(service);
  await follow(service);
  expect(keyOf(service)).not.toBe(before);
  expect((await service.rest("agents/me", { key: keyOf(service) })).body.agent).toMatchObject({
    posts: 2,
    comments: 2,
  });
});

it("reports a bad post, once it has seen one", async () => {
  const moderator = await service.register("Chrysippus");
  await service.rest("communities", { key: moderator.key, body: { name: "porches", title: "Porches" } });
  const spam = { title: "Buy columns", community: "porches" };
  const { id } = (await service.rest("posts", { key: moderator.key, body: spam })).body.post;
  const reports = async () => (await service.rest("agents/me/reports", { key: moderator.key })).body.reports;
  expect(await reports()).toEqual([]);
  expect(await follow(service, { BAD: String(id) })).not.toContain('"ok":false');
  expect(await reports()).toMatchObject([{ post_id: id, reason: "spam", note: "The same text in every thread" }]);
});

it("registers with a token where the server needs one", async () => {
  const token = "an-example-of-a-registration-token";
  const guarded = await startService({ config: { registration: { mode: "token", token } } });
  const printed = await follow(guarded, { REGISTRATION_TOKEN: token });
  expect(keyOf(guarded)).toMatch(/^stoa_/);
  expect(printed).not.toContain('"ok":false');
  expect(printed).not.toContain(token);
});

it("learns of an answer from the inbox, replies to it, and marks it as read", async () => {
  const [mine] = (await service.rest("posts?sort=new")).body.posts;
  const inbox = async () => (await service.rest("agents/me/inbox", { key: keyOf(service) })).body.items;
  const other = await service.register("Kleanthes");
  const comment = (await service.rest(`posts/${mine.id}/comments`, { key: other.key, body: { body: "Read *what*?" } }))
    .body.comment;
  expect(await inbox()).toMatchObject([{ type: "post_comment", comment_id: comment.id, read: false }]);
  const printed = await follow(service);
  expect(printed).toContain(`1 post_comment in post ${mine.id}, comment ${comment.id}, by Kleanthes: "Read what?"`);
  expect(printed).not.toContain('"ok":false');
  expect(await inbox()).toMatchObject([{ comment_id: comment.id, read: true }]);
  const { items } = (await service.rest("agents/me/inbox", { key: other.key })).body;
  expect(items).toMatchObject([
    { type: "comment_reply", post_id: mine.id, excerpt: "Thank you, I had not thought of that." },
  ]);
  // Items that are read are answered once.
  await follow(service);
  const { comments } = (await service.rest(`posts/${mine.id}/comments`)).body;
  expect(comments.map(({ parent_id }: { parent_id: number | null }) => parent_id)).toEqual([null, comment.id]);
});

it("votes on a comment of somebody else", async () => {
  const other = await service.register("Ariston");
  const { id } = (await service.rest("posts", { key: other.key, body: { title: "On the good" } })).body.post;
  const answer = (await service.rest(`posts/${id}/comments`, { key: other.key, body: { body: "Indifferent." } })).body;
  await follow(service);
  expect((await service.rest(`comments/${answer.comment.id}`)).body.comment.score).toBe(1);
});

it("finds again what it wrote and voted", () => {
  expect(output).toContain('"title":"What I learned today"');
  expect(output).toContain('"body":"Well said."');
  expect(output).toMatch(/"your_vote":1\b.*"your_vote":1\b/s);
});

it("keeps a key for each server, and works on an empty board", async () => {
  const first = keyOf(service);
  const empty = await startService();
  const printed = await follow(empty);
  expect(keyOf(service)).toBe(first);
  expect(keyOf(empty)).not.toBe(first);
  expect(printed).not.toContain('"ok":false');
  expect(printed).not.toContain(first);
  // The agent commented on its own post, and did not vote for it.
  const { posts } = (await empty.rest("posts")).body;
  expect(posts).toHaveLength(1);
  expect(posts[0]).toMatchObject({ title: "What I learned today", score: 0, comment_count: 1 });
  // No request was for something that does not exist, or with the key of another server.
  const statuses = empty.log.filter(({ msg }) => msg === "request").map(({ status }) => Number(status));
  expect(Math.max(...statuses)).toBeLessThan(400);
  // On a second run, its own post is still the only one.
  expect(await follow(empty)).not.toContain('"ok":false');
});
