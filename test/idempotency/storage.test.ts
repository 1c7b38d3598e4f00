// What one agent can make the service store by repeating cheap calls under new keys, and that nobody else bears it.
import { randomUUID } from "node:crypto";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { CreatePostResponseSchema } from "../../gen/stoa/v1/post_service_pb.js";
import { agentClaimId } from "../../src/idempotency/claims.ts";
import { defaultQuotas } from "../../src/rate-limits/quota.ts";
import { replyCheck } from "../../src/store/tables/reply-check.ts";
import { askText } from "../services/replays.ts";
import { startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";
import { type Service, startService } from "../support/service.ts";

/** More than one step of a removal takes: 100. */
const edits = 120;
const body = "🏛".repeat(10_000);

const service = await startModerated();
const attacker = await service.register();

const patch = (id: number, input: object, key: string) =>
  service.rest(`posts/${id}`, { method: "PATCH", key: attacker.key, body: input, headers: { "idempotency-key": key } });
const stored = async () =>
  (
    await service.db.rows<{ n: number; bytes: number }>(
      "SELECT COUNT(*) AS n, CAST(COALESCE(SUM(LENGTH(reply)), 0) AS SIGNED) AS bytes FROM idempotency_replies",
    )
  )[0] as { n: number; bytes: number };

it("edits of a large post under new keys store little each, and others read on during its removal", async () => {
  const id = await service.post(attacker, { body });
  const comment = await service.comment(attacker, id, { body: "🏛".repeat(5_000) });
  const before = await stored();
  const keys = Array.from({ length: edits }, () => randomUUID());
  const failed: number[] = [];
  await Promise.all(
    Array.from({ length: 20 }, async (_, lane) => {
      for (const key of keys.filter((_, index) => index % 20 === lane)) {
        const { status } = await patch(id, { body }, key);
        if (status !== 200) failed.push(status);
      }
    }),
  );
  expect(failed).toEqual([]);
  const after = await stored();
  expect(after.n - before.n).toBe(edits);
  expect((after.bytes - before.bytes) / edits).toBeLessThan(300);

  let isRemoved = false;
  const reader = (async () => {
    const statuses = new Set<number>();
    do statuses.add((await service.rest(`comments/${comment}`)).status);
    while (!isRemoved);
    return [...statuses];
  })();
  const removed = await service.rest(`posts/${id}`, { method: "DELETE", key: attacker.key });
  isRemoved = true;
  expect([removed.status, await reader]).toEqual([200, [200]]);
  const again = await patch(id, { body }, keys[0] as string);
  expect([again.body.post, again.headers.get("idempotency-replayed")]).toEqual([removed.body.post, "true"]);
  const [revisions] = await service.db.rows<{ n: number }>("SELECT COUNT(*) AS n FROM post_revisions");
  expect(revisions?.n).toBe(0);
  expect(await recount(service.db)).toEqual([]);
});

it("a repeat of an edit shows the text that it sends; what it does not send is shown as it stands", async () => {
  const id = await service.post(attacker, { title: "First", body: "One" });
  const keys = { both: randomUUID(), title: randomUUID() };
  const editBoth = () => patch(id, { title: "Second", body: "Two" }, keys.both);
  const editTitle = () => patch(id, { title: "Third" }, keys.title);
  const both = await editBoth();
  const title = await editTitle();
  const again = [await editBoth(), await editTitle()];
  expect(again.map((reply) => reply.body)).toEqual([both.body, title.body]);
  expect(again.map((reply) => reply.headers.get("idempotency-replayed"))).toEqual(["true", "true"]);
  await patch(id, { body: "Three" }, randomUUID());
  expect((await editBoth()).body).toEqual(both.body);
  expect((await editTitle()).body.post).toEqual({ ...title.body.post, body: "Three" });
});

it("an edit that changes nothing is charged if its reply is stored, and is free otherwise", async () => {
  const rateLimits = { ...defaultQuotas, edits: { calls: 3, windowSeconds: 60 } };
  const limited = await startService({ db: service.db, config: { rateLimits } });
  const id = await service.post(attacker);
  const edit = async (headers: Record<string, string>) =>
    (await limited.rest(`posts/${id}`, { method: "PATCH", key: attacker.key, body: {}, headers })).status;
  const before = await stored();
  for (let i = 0; i < 5; i++) expect(await edit({})).toBe(200);
  expect(await stored()).toEqual(before);
  const keys = Array.from({ length: 4 }, () => ({ "idempotency-key": randomUUID() }));
  const statuses = [];
  for (const key of keys) statuses.push(await edit(key));
  expect(statuses).toEqual([200, 200, 200, 429]);
  expect((await stored()).n - before.n).toBe(3);
  // A repeat is free.
  expect(await edit(keys[0] as { "idempotency-key": string })).toBe(200);
});

it("a reply that the version before edits stored is replayed with every byte of it, and with the members added since", async () => {
  const key = randomUUID();
  const headers = { "idempotency-key": key };
  const ask = () => askText(service.url, "posts", { key: attacker.key, body: { title: "Old", body: "Text" }, headers });
  const { post } = JSON.parse((await ask()).text);
  const { edited_at, removed, locked, ...old } = post;
  // That version stored the same message with the text; its JSON had no such members.
  const reply = Buffer.from(toBinary(CreatePostResponseSchema, fromJson(CreatePostResponseSchema, { post: old })));
  const [agent] = await service.db.rows<{ id: number }>("SELECT id FROM agents WHERE name = ?", [attacker.name]);
  const id = agentClaimId(agent?.id as number, key);
  const [row] = await service.db.rows<{ fingerprint: Buffer; created_at: number }>(
    "SELECT fingerprint, created_at FROM idempotency_replies WHERE id = ?",
    [id],
  );
  const { fingerprint, created_at: createdAt } = row as NonNullable<typeof row>;
  const check = replyCheck({ id, fingerprint, sealed: false, createdAt, reply, isOutline: false });
  await service.db.rows(
    "UPDATE idempotency_replies SET reply = ?, reply_check = ?, attempt = NULL, item = 'post', item_id = ? WHERE id = ?",
    [reply, check, post.id, id],
  );
  const before = JSON.stringify({ ok: true, post: old });
  const added = JSON.stringify({ edited_at, removed, locked }).slice(1);
  expect(await ask()).toEqual({ status: 201, text: `${before.slice(0, -2)},${added}}`, replayed: "true" });
});

it("after an upgrade, replies are stored so that the version before replays them, until its hour is over", async () => {
  const text = `Text ${randomUUID()}`;
  const withText = async () =>
    (await service.db.rows("SELECT id FROM idempotency_replies WHERE INSTR(reply, ?) > 0", [text])).length;
  await service.db.rows("UPDATE reply_outlines SET begin_at = ?", [Date.now() + 3_600_000]);
  const upgraded = await startService({ db: service.db });
  const ask = (at: Service, key: string) =>
    askText(at.url, "posts", {
      key: attacker.key,
      body: { title: "New", body: text },
      headers: { "idempotency-key": key },
    });
  const [whole, outline] = [randomUUID(), randomUUID()];
  const first = await ask(upgraded, whole);
  await service.db.rows("UPDATE reply_outlines SET begin_at = 0");
  await ask(service, outline);
  expect(await withText()).toBe(1);
  expect(await ask(service, whole)).toEqual({ ...first, replayed: "true" });
});
