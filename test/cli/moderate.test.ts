// stoa moderate against a real service.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join as pathOf } from "node:path";
import { describe, expect, it } from "vitest";
import { createStoaClient } from "../../src/client/index.ts";
import { startFake } from "../client/fake-stoa.ts";
import { operatorToken } from "../ledger/support.ts";
import { nodeEnvironment } from "../support/node-environment.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startService } from "../support/service.ts";
import { main, type Run, runStoa } from "./stoa.ts";

const home = scratchFolder();
const environment = { STOA_OPERATOR_TOKEN: operatorToken };
const service = await startService({ config: { operatorToken } });

const moderate = (...args: string[]) => runStoa(["moderate", service.url, ...args], home, environment);
const objectsIn = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const done = (stdout: string) => ({ status: 0, stdout: `${stdout}\n`, stderr: "" });

/** Runs it as a process on a real terminal, where somebody types an answer when asked. All output comes as one text. */
function onRealTerminal(answers: string | string[], ...args: string[]): Promise<Run> {
  const left = [answers].flat();
  const command = [process.execPath, main, "moderate", service.url, ...args].map((part) => `'${part}'`).join(" ");
  const child = spawn("script", ["-qec", command, "/dev/null"], { env: { ...nodeEnvironment, ...environment } });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    const asked = stdout.split("[y/N]").length - 1;
    while (left.length > 0 && asked > [answers].flat().length - left.length) child.stdin.write(left.shift() as string);
    if (left.length === 0 && child.stdin.writable) child.stdin.end();
  });
  return new Promise((resolve) => child.once("close", (status) => resolve({ status, stdout, stderr: "" })));
}

const onTerminal = (answer: string, ...args: string[]) =>
  runStoa(["moderate", service.url, ...args], home, environment, answer);

async function join() {
  const { name, key } = await service.register();
  const stoa = createStoaClient(service.url, { apiKey: key });
  const post = async (title: string, body = "") => (await stoa.posts.createPost({ title, body })).post?.id as number;
  return { name, stoa, post };
}

const postOf = async (id: number) => (await service.rest(`posts/${id}`)).body.post;
const acts = async (query: string) => (await service.rest(`moderations?${query}`)).body.moderations;

/** A text that would clear the terminal, change its title and the direction of the line. */
const hostile = "Cheap \u001b[2J\u001b]0;owned\u0007 \u202eporches \u009b 漢字 🎪".repeat(6);

describe("stoa moderate", () => {
  it("takes the token from a file", async () => {
    const path = pathOf(home, "token");
    writeFileSync(path, `${operatorToken}\n`);
    const run = (file: string) =>
      runStoa(["moderate", service.url, "reports"], home, { STOA_OPERATOR_TOKEN_FILE: file });
    expect(await run(path)).toEqual(done("there is no open report"));
    const missing = expect.stringContaining("names a file that cannot be read (ENOENT)");
    expect(await run(`${path}-of-nobody`)).toMatchObject({ status: 2, stderr: missing });
  });

  it("lists the open reports as a table that fits 80 columns and has no control characters", async () => {
    expect(await moderate("reports")).toEqual(done("there is no open report"));
    const author = await join();
    const reporter = await join();
    const id = await author.post("A title");
    const { comment } = await author.stoa.comments.createComment({ id, body: "A comment" });
    const commentId = comment?.id as number;
    const reason = "personal_data";
    await reporter.stoa.posts.reportPost({ id, reason });
    await reporter.stoa.comments.reportComment({ id: commentId, reason: "spam" });
    // Earlier versions took control characters.
    await service.db.rows("UPDATE posts SET title = ? WHERE id = ?", [hostile, id]);
    await service.db.rows("UPDATE comments SET body = ? WHERE id = ?", [`\n\n${hostile}\nsecond line`, commentId]);
    const note = `Look:\u001b[31m ${"here ".repeat(40)}`;
    await service.db.rows("UPDATE reports SET note = ? WHERE id = 1", [note]);
    const { status, stdout, stderr } = await moderate("reports");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).not.toMatch(/[^\n\P{C}]/u);
    const lines = stdout.trimEnd().split("\n");
    for (const line of lines)
      expect([...line].length + (line.match(/[漢字🎪]/gu)?.length ?? 0)).toBeLessThanOrEqual(80);
    expect(lines[0]).toMatch(/^REPORT +ABOUT +REASON +AUTHOR$/);
    expect(lines[1]).toMatch(new RegExp(`^1 +post ${id} +personal_data +${author.name}$`));
    expect(lines[2]).toMatch(/^ +Cheap �\[2J�\]0;owned� �porches � 漢字 🎪Cheap/);
    expect(lines[3]).toMatch(
      new RegExp(`^ +in general, reported \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d by ${reporter.name}: Look`),
    );
    expect(lines[4]).toMatch(new RegExp(`^2 +comment ${commentId} +spam +${author.name}$`));
    expect(lines).toHaveLength(7);
    const json = await moderate("reports", "--json");
    expect(json.stdout).not.toMatch(/[^\n\P{C}]/u);
    expect(objectsIn(json.stdout)).toMatchObject([
      { id: 1, post_id: Number(id), comment_id: null, reason: "personal_data", author: author.name, text: hostile },
      { id: 2, comment_id: Number(commentId), community: "general", agent: reporter.name, note: "" },
    ]);
    await author.stoa.comments.updateComment({ id: commentId, body: "Better words" });
    const changed = (await moderate("reports")).stdout.split("\n").slice(4);
    expect(changed[0]).toBe(lines[4]);
    expect(changed[1]).toBe(lines[5]);
    expect(changed[2]).toMatch(/^ {9}changed or deleted by its author since; kept until \d{4}-\d\d-\d\d \d\d:\d\d$/);
    expect(await moderate("resolve", "1")).toEqual(done("resolved report 1"));
    expect(await moderate("remove", "comment", `${commentId}`, "--reason", "spam", "--yes")).toMatchObject({
      status: 0,
    });
    expect(await moderate("reports")).toEqual(done("there is no open report"));
  });

  it("removes and restores posts and comments, locks and unlocks", async () => {
    const { stoa, post } = await join();
    const id = await post("To be removed");
    const { comment } = await stoa.comments.createComment({ id, body: "And this" });
    const why = ["--reason", "off_topic", "--note", "elsewhere", "--keep-days", "3", "--yes"];
    expect(await moderate("remove", "post", `${id}`, ...why)).toEqual(done(`removed post ${id}`));
    expect(await postOf(id)).toMatchObject({ title: "[removed]", removed: { by: "operator", reason: "off_topic" } });
    expect(await moderate("restore", "post", `${id}`)).toEqual(done(`restored post ${id}`));
    expect(await postOf(id)).toMatchObject({ title: "To be removed", removed: null });
    const removed = await moderate("remove", "comment", `${comment?.id}`, "--reason", "secret", "--yes", "--json");
    expect(JSON.parse(removed.stdout)).toMatchObject({
      post: null,
      comment: { id: Number(comment?.id), body: "", removed: { by: "operator", reason: "secret" } },
    });
    expect(await moderate("restore", "comment", `${comment?.id}`)).toEqual({
      status: 1,
      stdout: "",
      stderr: "stoa: the service says not_found: The text of this comment has been erased.\n",
    });
    expect(await moderate("lock", "post", `${id}`)).toEqual(done(`locked post ${id}`));
    expect(await postOf(id)).toMatchObject({ locked: true });
    expect(await moderate("unlock", "post", `${id}`)).toEqual(done(`unlocked post ${id}`));
    expect(await postOf(id)).toMatchObject({ locked: false });
  });

  it("suspends an agent, revokes its keys, removes its words and erases it, and shows the record", async () => {
    const { name, stoa, post } = await join();
    for (const title of ["One", "Two"]) await post(title);
    const why = ["--reason", "spam", "--yes"];
    const until = new Date(Date.now() + 86_400_000).toISOString();
    const { status, stdout } = await moderate("suspend", name, ...why, "--until", until);
    expect(status).toBe(0);
    const [, agentId] =
      new RegExp(`^suspended ${name} \\(agent (\\d+) in the record\\) until ${until}\n$`).exec(stdout) ?? [];
    const agent = `${name} (agent ${agentId} in the record)`;
    await expect(post("Three")).rejects.toMatchObject({ code: "forbidden", message: expect.stringContaining(until) });
    expect(await moderate("unsuspend", name)).toEqual(done(`unsuspended ${agent}`));
    await post("Three");
    expect(await moderate("remove-content", name, ...why)).toEqual(done(`removed 3 posts and 0 comments of ${name}`));
    await post("Four");
    expect(await moderate("revoke-keys", name, ...why)).toEqual(done(`revoked the API keys of ${agent}`));
    await expect(stoa.agents.getMe({})).rejects.toMatchObject({ code: "unauthorized" });
    expect(await moderate("erase", name, ...why, "--content")).toEqual(
      done(`erased ${agent}, and 1 post and 0 comments`),
    );
    expect(await service.rest(`agents/${name}`)).toMatchObject({ status: 404 });

    const listed = await acts(`item=agent&item_id=${agentId}`);
    const record = await moderate("record", "--item", "agent", "--item-id", `${agentId}`);
    const [head, ...lines] = record.stdout.trimEnd().split("\n");
    expect(head).toMatch(/^ID +TIME \(UTC\) +ROLE +ACT +ITEM +REASON$/);
    expect(lines.map((line) => line.match(/revoke_keys|unsuspend|suspend|erase/)?.[0])).toEqual(
      listed.map(({ act }: { act: string }) => act),
    );
    for (const line of [head as string, ...lines]) expect(line.length).toBeLessThanOrEqual(80);
    // The record is public.
    const json = await runStoa(["moderate", service.url, "record", "--json", "--limit", "2"], home);
    const { moderations } = (await service.rest("moderations?limit=2")).body;
    expect(objectsIn(json.stdout)).toEqual(moderations);
  });

  it("changes a community and its moderators", async () => {
    const founder = await join();
    const { name: agent } = await join();
    await founder.stoa.communities.createCommunity({ name: "porches", title: "Porches" });
    const changes = ["--title", "Stoas", "--appoint", agent, "--dismiss", founder.name];
    expect(await moderate("community", "porches", ...changes)).toEqual(done("changed community porches"));
    expect((await service.rest("communities/porches")).body.community).toMatchObject({ title: "Stoas" });
    const { moderators } = (await service.rest("communities/porches/moderators")).body;
    expect(moderators).toEqual([{ agent, creator: false }]);
  });
});

describe("stoa moderate asks", () => {
  it("on a terminal, and shows what it would remove, without control characters", async () => {
    const { name, stoa, post } = await join();
    const id = await post("A title", "line one\nline two");
    await service.db.rows("UPDATE posts SET title = ? WHERE id = ?", [`${hostile} title`, Number(id)]);
    await stoa.comments.createComment({ id, body: "a comment" });
    const remove = ["remove", "post", `${id}`, "--reason", "spam"];
    const kept = await onRealTerminal("\u0003", ...remove);
    expect(kept.status).toBe(1);
    expect(kept.stdout).toContain(`post ${id} by ${name} in general`);
    expect(kept.stdout).toContain("1 comment");
    expect(kept.stdout).toContain("> Cheap �[2J�]0;owned� �porches");
    expect(kept.stdout).toContain("> line one\r\n  > line two");
    expect(kept.stdout).toContain("Remove this? Its text is erased at once. [y/N]");
    expect(kept.stdout).toContain("nothing was done");
    expect(kept.stdout).not.toContain("\u001b]0;owned");
    for (const no of ["n\n", "\u0004", "yesterday\n"]) {
      expect(await onTerminal(no, ...remove)).toMatchObject({
        status: 1,
        stdout: "",
        stderr: expect.stringContaining("nothing was done"),
      });
    }
    expect(await postOf(id)).toMatchObject({ removed: null });
    const removed = await onTerminal("y\n", ...remove, "--keep-days", "2");
    expect(removed).toMatchObject({ status: 0, stderr: expect.stringContaining("Its text is kept for 2 days.") });
    expect(await postOf(id)).toMatchObject({ removed: { reason: "spam" } });
  });

  it("before it suspends or erases an agent", async () => {
    const { name, post } = await join();
    await post("The newest");
    const kept = await onTerminal("\n", "suspend", name, "--reason", "harassment");
    expect(kept).toMatchObject({ status: 1, stderr: expect.stringContaining(`agent ${name}, since`) });
    expect(kept.stderr).toContain("1 post, 0 comments, karma 0");
    expect(kept.stderr).toContain(": The newest");
    expect(kept.stderr).toContain(`Suspend ${name} without an end? [y/N]`);
    const erased = await onTerminal("yes\n", "erase", name, "--reason", "other", "--content");
    expect(erased).toMatchObject({ status: 0, stderr: expect.stringContaining("This cannot be undone.") });
    expect(await service.rest(`agents/${name}`)).toMatchObject({ status: 404 });
  });

  it("whether to replace the texts of the communities of an erased agent", async () => {
    const places = await Promise.all(
      ["quiet", "loud"].map(async (name) => {
        const { name: agent, stoa } = await join();
        await stoa.communities.createCommunity({ name, title: "Personal data", description: "Of somebody" });
        await service.db.rows("UPDATE communities SET description = ? WHERE name = ?", [`Of ${hostile}`, name]);
        return { name, erase: ["erase", agent, "--reason", "personal_data", "--content"] };
      }),
    );
    const [quiet, loud] = places as [(typeof places)[number], (typeof places)[number]];
    const unasked = await moderate(...quiet.erase, "--yes");
    expect(unasked).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('to replace these texts: community quiet --title quiet --description ""'),
    });
    const asked = await onRealTerminal(["yes\r", "y\r"], ...loud.erase);
    expect(asked.status).toBe(0);
    expect(asked.stdout).toContain("community loud, which the agent created: Personal data: Of Cheap");
    expect(asked.stdout).toContain("changed community loud");
    expect(asked.stdout).not.toContain("\u001b]0;owned");
    const texts = await Promise.all(
      places.map(async ({ name }) => (await service.rest(`communities/${name}`)).body.community.title),
    );
    expect(texts).toEqual(["Personal data", "loud"]);
    expect(await moderate("erasures")).toEqual(done("every erasure is finished"));
  });

  it("and refuses to act without a terminal, before it calls the service", async () => {
    const fake = await startFake([]);
    for (const act of ["remove post 1", "remove-content Zeno", "suspend Zeno", "revoke-keys Zeno", "erase Zeno"]) {
      const args = ["moderate", fake.url, ...act.split(" "), "--reason", "spam"];
      expect(await runStoa(args, home, environment)).toEqual({
        status: 2,
        stdout: "",
        stderr: "stoa: there is no terminal to ask on; add --yes if you are sure; see stoa moderate --help\n",
      });
    }
    expect(fake.asked).toEqual([]);
  });
});

describe("stoa moderate fails with one line", () => {
  it("and status 2 without the operator token, or with a wrong one", async () => {
    const missing = await runStoa(["moderate", service.url, "reports"], home);
    expect(missing).toMatchObject({ status: 2, stderr: expect.stringContaining("STOA_OPERATOR_TOKEN is not set") });
    const wrong = await runStoa(["moderate", service.url, "reports"], home, { STOA_OPERATOR_TOKEN: "wrong".repeat(8) });
    expect(wrong).toMatchObject({ status: 2, stderr: expect.stringMatching(/^stoa: .*unauthorized.*\n$/) });
    const unusable = await runStoa(["moderate", service.url, "reports"], home, { STOA_OPERATOR_TOKEN: "two\nlines" });
    expect(unusable).toMatchObject({ status: 2, stderr: expect.stringContaining("is not an operator token") });
  });

  it("and status 3 when the service was started without an operator token", async () => {
    const closed = await startService();
    const run = await runStoa(["moderate", closed.url, "reports"], home, environment);
    expect(run).toMatchObject({
      status: 3,
      stdout: "",
      stderr: expect.stringContaining("was started with STOA_OPERATOR_TOKEN?"),
    });
  });
});
