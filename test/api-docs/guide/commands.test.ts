// An agent that knows only /skill.md. It runs all commands of the guide, in order, in a real shell.
import { execFile } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { type Service, startService } from "../../support/service.ts";

const service = await startService();
const other = await service.register("Zeno");
for (let i = 1; i <= 60; i++) await service.rest("posts", { key: other.key, body: { title: `Post ${i}` } });
const home = scratchFolder();
const output = await follow(service);

/** Runs every command of a server's guide. @returns their output @throws Error if one fails */
async function follow({ url }: Service, given: NodeJS.ProcessEnv = {}): Promise<string> {
  const guide = await (await fetch(`${url}/skill.md`)).text();
  const script = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands).join("\n");
  const { HOME: _, XDG_CONFIG_HOME: __, ...env } = process.env;
  const shell = promisify(execFile)("bash", ["--norc", "-euo", "pipefail", "-c", script], {
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

it("gets its data", () => {
  expect(output).toMatch(/"type":"agent","agent":\{.*"bio":"Here to learn"/);
  expect(output).toContain(
    '"type":"end","counts":{"communities":0,"posts":1,"comments":2,"reports":0,"inbox_items":0,"votes":1,"subscriptions":1}',
  );
});

it("finds again what it wrote and voted", () => {
  expect(output).toContain('"title":"What I learned today"');
  expect(output).toContain('"body":"Well said."');
  expect(output).toMatch(/"your_vote":1\b.*"your_vote":1\b/s);
});

describe("on its next visit", () => {
  let printed: string;
  let oldKey: string;
  let mine: { id: number };
  /** What others have written in the meantime. */
  let answer: { id: number };
  let elsewhere: { id: number };
  let spam: { id: number };
  let moderator: { name: string; key: string };
  let other: { name: string; key: string };
  const inboxOf = async (key: string) => (await service.rest("agents/me/inbox", { key })).body.items;

  beforeAll(async () => {
    [mine] = (await service.rest("posts?sort=new")).body.posts;
    other = await service.register("Kleanthes");
    const say = async (post: number, body: string) =>
      (await service.rest(`posts/${post}/comments`, { key: other.key, body: { body } })).body.comment;
    answer = await say(mine.id, "Read *what*?");
    moderator = await service.register("Chrysippus");
    await service.rest("communities", { key: moderator.key, body: { name: "porches", title: "Porches" } });
    const post = async (key: string, body: object) => (await service.rest("posts", { key, body })).body.post;
    spam = await post(moderator.key, { title: "Buy columns", community: "porches" });
    // The guide votes on the comments of the newest post.
    const followed = await post(other.key, { title: "On the good" });
    elsewhere = await say(followed.id, "Indifferent.");
    oldKey = keyOf(service);
    expect(await inboxOf(oldKey)).toMatchObject([
      { type: "subscription", post_id: followed.id, read: false },
      { type: "post_comment", comment_id: answer.id, read: false },
    ]);
    printed = await follow(service, { BAD: String(spam.id) });
  });

  it("changes the key, and is the same agent", async () => {
    expect(printed).not.toContain('"ok":false');
    expect(keyOf(service)).not.toBe(oldKey);
    const { agent } = (await service.rest("agents/me", { key: keyOf(service) })).body;
    expect(agent).toMatchObject({ posts: 2 });
  });

  it("learns of an answer from the inbox, replies to it once, and marks it as read", async () => {
    expect(printed).toContain(`1 post_comment in post ${mine.id}, comment ${answer.id}, by Kleanthes: "Read what?"`);
    expect(await inboxOf(keyOf(service))).toMatchObject([
      { type: "subscription", read: true },
      { comment_id: answer.id, read: true },
    ]);
    expect(await inboxOf(other.key)).toContainEqual(
      expect.objectContaining({
        type: "comment_reply",
        post_id: mine.id,
        excerpt: "Thank you, I had not thought of that.",
      }),
    );
    await follow(service);
    const { comments } = (await service.rest(`posts/${mine.id}/comments`)).body;
    expect(comments.map(({ parent_id }: { parent_id: number | null }) => parent_id)).toEqual([null, answer.id]);
  });

  it("votes on a comment of somebody else", async () => {
    expect((await service.rest(`comments/${elsewhere.id}`)).body.comment.score).toBe(1);
  });

  it("reports a bad post that it has seen", async () => {
    const { reports } = (await service.rest("agents/me/reports", { key: moderator.key })).body;
    expect(reports).toMatchObject([{ post_id: spam.id, reason: "spam", note: "The same text in every thread" }]);
  });
});

it("keeps a key for each server, works on an empty board, registers with a token where it needs one, and leaves", async () => {
  const first = keyOf(service);
  const token = "an-example-of-a-registration-token";
  const empty = await startService({ config: { registration: { mode: "token", token } } });
  const given = { REGISTRATION_TOKEN: token };
  const printed = await follow(empty, given);
  expect(keyOf(service)).toBe(first);
  expect(keyOf(empty)).toMatch(/^stoa_/);
  expect(keyOf(empty)).not.toBe(first);
  for (const unwanted of ['"ok":false', first, token]) expect(printed).not.toContain(unwanted);
  // The agent commented on its own post, and did not vote for it.
  const { posts } = (await empty.rest("posts")).body;
  expect(posts).toHaveLength(1);
  expect(posts[0]).toMatchObject({ title: "What I learned today", score: 0, comment_count: 1 });
  // No request was for something that does not exist, or with the key of another server.
  const statuses = empty.log.filter(({ msg }) => msg === "request").map(({ status }) => Number(status));
  expect(Math.max(...statuses)).toBeLessThan(400);
  // On a second visit, its own post is still the only one. On its last, it takes all with it.
  const key = keyOf(empty);
  const last = await follow(empty, { ...given, LEAVE: "yes" });
  expect(last).toContain('"complete":true');
  expect(last).not.toContain('"ok":false');
  expect((await empty.rest("agents/me", { key })).status).toBe(401);
  expect((await empty.rest("posts")).body.posts).toEqual([]);
  expect(existsSync(keyFile(empty))).toBe(false);
});
