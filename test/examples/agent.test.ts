// The example of an agent: it lives on a board by what the guide says, and knows only the root address and a subject.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { recount } from "../support/recount.ts";
import { waitUntil } from "../support/wait.ts";
import { ExampleAgent, inboxOf, program, startOldBoard, threadOf } from "./support.ts";

/** What the two agents of each test care about. */
const subjects = ["Theseus", "Medea", "Orestes"] as const;

const { service, old: olds } = await startOldBoard(...subjects);

/** Two agents that have not visited yet, and the old thread about their subject. */
function meet(index: number): { subject: string; pair: [ExampleAgent, ExampleAgent]; old: number } {
  const subject = subjects[index] as string;
  return {
    subject,
    pair: [new ExampleAgent(service, subject), new ExampleAgent(service, subject)],
    old: olds[index] as number,
  };
}

it("needs nothing of ours", () => {
  const imports = [...readFileSync(program, "utf8").matchAll(/(?:from|import|require)\s*\(?\s*"([^"]+)"/g)];
  expect(imports.map(([, name = ""]) => name).filter((name) => !name.startsWith("node:"))).toEqual([]);
});

/** Finds the agents by their keys, and the posts that they have written. */
async function whoIs({ key }: ExampleAgent): Promise<{ name: string; post: number | undefined }> {
  const { name } = (await service.rest("agents/me", { key })).body.agent;
  return { name, post: (await service.rest(`agents/${name}/posts`)).body.posts[0]?.id };
}

/** Whether an agent has read the answer to its post and the thanks for its comment. */
async function isDone({ key }: ExampleAgent): Promise<boolean> {
  if (key === undefined) return false;
  const items = await inboxOf(service, key);
  return items.length === 2 && items.every(({ read }) => read);
}

/** Checks what two agents that have met must have left behind, in whichever order they came. */
async function checkLives(old: number, pair: [ExampleAgent, ExampleAgent]): Promise<void> {
  const [first, second] = [await whoIs(pair[0]), await whoIs(pair[1])];
  for (const [agent, me, other] of [
    [pair[0], first, second],
    [pair[1], second, first],
  ] as const) {
    // The other commented on its post, was thanked, and both comments have the vote of the one who was answered.
    const thread = await threadOf(service, me.post as number);
    expect(thread).toEqual([`${other.name}, 1`, `${me.name} to 0, 1`]);
    const items = await inboxOf(service, agent.key);
    expect(items.toSorted((a, b) => b.type.localeCompare(a.type))).toMatchObject([
      { type: "post_comment", agent: other.name, post_id: me.post, read: true },
      { type: "comment_reply", agent: other.name, post_id: other.post, read: true },
    ]);
    const { agent: profile, inbox_unread } = (await service.rest("agents/me", { key: agent.key })).body;
    expect([profile.posts, profile.comments, profile.karma, inbox_unread]).toEqual([1, 3, 3, 0]);
    expect((await service.rest(`posts/${me.post}`)).body.post.score).toBe(1);
  }
  expect((await threadOf(service, old)).toSorted()).toEqual([`${first.name}, 0`, `${second.name}, 0`].toSorted());
  expect((await service.rest(`posts/${old}`)).body.post.score).toBe(2);
  expect(await recount(service.db)).toEqual([]);
}

it("learns of an answer on its next visit, and answers back", async () => {
  const { subject, pair, old } = meet(0);
  const [first, second] = pair;
  expect(await first.visit()).toBe("");
  const { name, post } = await whoIs(first);
  expect(await threadOf(service, old)).toEqual([`${name}, 0`]);
  expect(await second.visit()).toBe("");
  const other = (await whoIs(second)).name;
  expect(await inboxOf(service, first.key)).toMatchObject([{ type: "post_comment", agent: other, read: false }]);

  expect(await first.visit()).toBe(`post_comment by ${other} in post ${post}: "I think about ${subject}, too."\n`);
  const [answer] = (await inboxOf(service, second.key)).filter(({ type }) => type === "comment_reply");
  expect(answer).toMatchObject({ agent: name, post_id: post, read: false });
  expect(await second.visit()).toContain(`comment_reply by ${name} in post ${post}: "Thank you, @${other}.`);
  expect(await first.visit()).toContain("comment_reply by ");
  await checkLives(old, pair);
});

it("lives beside another one, and neither answers twice", async () => {
  const { pair, old } = meet(1);
  const lives = pair.map((agent) => agent.live(0.05));
  await waitUntil("both to read what the other answered", async () => {
    return (await Promise.all(pair.map((agent) => isDone(agent)))).every(Boolean);
  });
  await checkLives(old, pair);
  for (const { stop } of lives) {
    const { printed, complaints } = await stop();
    expect([printed.trim().split("\n").length, complaints]).toEqual([2, ""]);
  }
  await checkLives(old, pair);
});

it("is the same agent after it was killed in the middle of its life", async () => {
  const { pair, old } = meet(2);
  const [first, second] = pair;
  const { stop } = first.live(0.05);
  await waitUntil("it to register", () => first.key !== undefined);
  await stop();
  for (const agent of [first, second, first, second, first]) await agent.visit();
  await checkLives(old, pair);
});
