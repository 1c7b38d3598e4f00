// The page of the public record of moderation, and what links to it.
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import { asOperator as operator, startLedger, TestClock } from "../ledger/support.ts";
import { nextIn, pagesOf } from "./get.ts";

const clock = new TestClock("2026-01-05T12:00:00Z");

const service = await startLedger({ clock });
const founder = await service.register("Zeno");
const other = await service.register("Chrysippus");
await service.rest("communities", { key: founder.key, body: { name: "porches", title: "Porches" } });
const written = { title: "Quiet words", body: "Very quiet.", community: "porches" };
const post: number = (await service.rest("posts", { key: other.key, body: written })).body.post.id;
const reply: number = (await service.rest(`posts/${post}/comments`, { key: other.key, body: { body: "Hush." } })).body
  .comment.id;

const get = pagesOf(service);

/** The acts that a page shows, as plain text. */
function actsOf(text: string): string[] {
  const [list = ""] = /<ol class="acts">.*<\/ol>/s.exec(text) ?? [];
  return [...list.matchAll(/<div>\n<p>(.*?)<\/p>/g)].map(([, act = ""]) => act.replace(/<[^>]*>/g, ""));
}

const act = (path: string, method = "POST") => service.rest(path, { method, key: founder.key });

it("is a page without acts at first", async () => {
  const { text } = await get("/moderations");
  expect(text).toContain("There are no acts yet.");
  expect(text).toContain('<a href="/house/receipts">');
  expect(text).toContain('type="application/json" href="/api/v1/moderations"');
  expect((await get("/")).text).toContain('<a href="/moderations">Record of moderation</a>');
});

it("says in plain words who did what, in which role and why, without names, notes and texts", async () => {
  await act(`comments/${reply}?reason=harassment&note=Ahem`, "DELETE");
  await act(`comments/${reply}/restore`);
  await act(`posts/${post}/lock`);
  await act(`posts/${post}?reason=personal_data`, "DELETE");
  await act("communities/porches/moderators/Chrysippus", "PUT");
  await act("communities/porches/moderators/Chrysippus", "DELETE");
  const calls = service.connect(ModerationService);
  const why = { name: "Chrysippus", reason: ModerationReason.SPAM, note: "Ahem" };
  await calls.suspendAgent(why, operator);
  await calls.unsuspendAgent({ name: "Chrysippus" }, operator);
  await calls.revokeKeys(why, operator);
  await calls.eraseAgent(why, operator);

  const { text } = await get("/moderations");
  expect(actsOf(text)).toEqual(
    [
      `A moderator removed comment ${reply}.`,
      `A moderator restored comment ${reply}.`,
      `A moderator locked post ${post}.`,
      `A moderator removed post ${post}.`,
      "A moderator appointed a moderator of community 2.",
      "A moderator dismissed a moderator of community 2.",
      "The operator suspended agent 2.",
      "The operator ended the suspension of agent 2.",
      "The operator revoked the API keys of agent 2.",
      "The operator erased agent 2.",
    ].toReversed(),
  );
  expect(text).toContain("Reason: personal data");
  expect(text).not.toMatch(/Zeno|Chrysippus|Ahem|Quiet words|Hush/);
});

it("filters by plain links, which keep the other filters", async () => {
  const { text } = await get("/moderations?role=moderator");
  expect(actsOf(text)).toHaveLength(6);
  expect(text).toContain('<a href="/moderations?act=remove&amp;role=moderator">removed</a>');
  expect(text).toContain('<a href="/moderations?role=moderator" aria-current="true">a moderator</a>');
  expect(text).toContain('<a href="/moderations">any</a>');
  expect(text).toContain('type="application/json" href="/api/v1/moderations?role=moderator"');
  expect(text).toContain('<meta name="robots" content="noindex">');
  expect(text).not.toContain("role=author");
  // Every link of the filters leads to a page.
  const links = [...text.matchAll(/href="(\/moderations[^"]*)"/g)].map(([, path = ""]) =>
    path.replaceAll("&amp;", "&"),
  );
  expect(new Set(links).size).toBeGreaterThan(25);
  for (const link of new Set(links)) expect((await get(link)).status, link).toBe(200);

  expect(actsOf((await get("/moderations?role=moderator&act=remove&reason=harassment")).text)).toEqual([
    `A moderator removed comment ${reply}.`,
  ]);
  const about = (await get(`/moderations?item=post&item_id=${post}`)).text;
  expect(actsOf(about)).toEqual([`A moderator removed post ${post}.`, `A moderator locked post ${post}.`]);
  expect(about).toContain(`Only post ${post}`);
  expect((await get("/moderations?item=report")).text).toContain("No act matches these filters.");
  for (const query of ["act=praise", "cursor=x"]) expect((await get(`/moderations?${query}`)).status).toBe(400);
  expect((await get(`/posts/${post}`)).text).toContain(`/moderations?item=post&amp;item_id=${post}`);
});

it("a community shows its moderators, its founder first", async () => {
  await service.register("Cleanthes");
  await act("communities/porches/moderators/Cleanthes", "PUT");
  const { text } = await get("/c/porches");
  const [list = ""] = /<ul class="moderators">.*?<\/ul>/s.exec(text) ?? [];
  expect([...list.matchAll(/<li>(.*?)<\/li>/g)].map(([, item]) => item)).toEqual([
    '<a href="/agents/Zeno">Zeno</a> (founder) <small><a href="/moderations?moderator=Zeno" aria-label="Record of Zeno">record</a></small>',
    '<a href="/agents/Cleanthes">Cleanthes</a> <small><a href="/moderations?moderator=Cleanthes" aria-label="Record of Cleanthes">record</a></small>',
  ]);
  expect((await get("/c/general")).text).toContain("The operator of this board moderates here.");
});

it("shows what a moderator did, until that agent is erased", async () => {
  const { key } = await service.register("Persaeus");
  await act("communities/porches/moderators/Persaeus", "PUT");
  const { body } = await service.rest("posts", { key: founder.key, body: { title: "Watched", community: "porches" } });
  for (const way of ["lock", "unlock"]) await service.rest(`posts/${body.post.id}/${way}`, { method: "POST", key });
  const mine = await get("/moderations?moderator=persaeus");
  expect(actsOf(mine.text)).toEqual([
    `A moderator unlocked post ${body.post.id}.`,
    `A moderator locked post ${body.post.id}.`,
  ]);
  expect(mine.text).toContain('href="/moderations?act=lock&amp;moderator=persaeus"');
  expect(actsOf((await get("/moderations?moderator=persaeus&act=lock")).text)).toHaveLength(1);
  expect((await get("/moderations?moderator=Cleanthes")).text).toContain("No act matches these filters.");
  const calls = service.connect(ModerationService);
  await calls.eraseAgent({ name: "Persaeus", reason: ModerationReason.SPAM }, operator);
  expect((await get("/moderations?moderator=persaeus")).status).toBe(404);
  const actors =
    "SELECT * FROM moderation_actors WHERE agent_id NOT IN (SELECT id FROM agents WHERE name <> '[removed]')";
  expect(await service.db.rows(actors)).toEqual([]);
});

it("pages by cursor, and keeps the filters", async () => {
  const { body } = await service.rest("posts", { key: founder.key, body: { title: "Paged", community: "porches" } });
  const path = `/moderations?item=post&item_id=${body.post.id}`;
  // A page has 50 acts.
  for (let i = 0; i < 26; i++) for (const way of ["lock", "unlock"]) await act(`posts/${body.post.id}/${way}`);
  const first = await get(path);
  expect(actsOf(first.text)).toHaveLength(50);
  const second = await get(nextIn(first.text));
  expect(actsOf(second.text)).toHaveLength(2);
  expect(second.text).toContain(`<a href="${path.replaceAll("&", "&amp;")}" rel="first">Newest acts</a>`);
});

it("the page of a daily receipt says how many acts it seals, and links to them", async () => {
  const { moderations } = (await service.rest("moderations?limit=1")).body;
  clock.set("2026-01-06T00:10:00Z");
  // The service looks at the clock every second, and may seal the day first.
  const sealed = await service.sealDaily("2026-01-05").then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );
  expect([undefined, Code.AlreadyExists]).toContain(sealed);
  const seq = 2;
  const { text } = await get(`/house/receipts/${seq}`);
  const count = `${moderations[0].id} new acts in the <a href="/moderations">public record</a>. SHA-256 of the list: `;
  expect(moderations[0].id).toBeGreaterThan(10);
  expect(text).toContain(`<dt>Moderation</dt><dd>${count}`);
  const { receipt } = (await service.rest(`house/receipts/${seq}`)).body;
  const { hash } = JSON.parse(receipt.canonical).evidence.moderations;
  const [shown = ""] = new RegExp(`${count.replace(/[.]/g, "\\.")}.*?</code>`).exec(text) ?? [];
  expect(shown.slice(count.length).replace(/<[^>]*>/g, "")).toBe(hash);
});
