// What was changed in the database behind the service's back is unavailable, and logged; nothing is a 500.
import { randomUUID } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { type Service, startService } from "../support/service.ts";

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService();
  ({ key } = await service.register());
});

/** Makes the call, and makes it again once its row is changed. */
async function repeat(path: string, body: unknown, sql: string, params: unknown[] = []) {
  const headers = { "idempotency-key": randomUUID() };
  const before = await service.db.rows<{ id: Buffer }>("SELECT id FROM idempotency_replies");
  const auth = path.endsWith("register") ? {} : { key };
  expect((await service.rest(path, { ...auth, body, headers })).status).toBe(201);
  const after = await service.db.rows<{ id: Buffer }>("SELECT id FROM idempotency_replies");
  const made = after.find(({ id }) => !before.some((each) => each.id.equals(id)));
  await service.db.rows(`UPDATE idempotency_replies SET ${sql} WHERE id = ?`, [...params, made?.id]);
  const logged = service.log.length;
  const reply = await service.rest(path, { ...auth, body, headers });
  return { reply, errors: service.log.slice(logged).filter(({ level }) => level === 50) };
}

it.each([
  ["other bytes", "reply = ?", [Buffer.from("ffffffffff", "hex")]],
  ["no bytes", "reply = ''", []],
  ["a lost value", "reply = NULL", []],
  ["half of its bytes", "reply = LEFT(reply, FLOOR(LENGTH(reply) / 2))", []],
  ["a wrong mark of secrecy", "sealed = 1", []],
])("a kept reply with %s is unavailable, and the call is not made again", async (_, sql, params) => {
  const title = `kept ${randomUUID()}`;
  const { reply, errors } = await repeat("posts", { title }, sql, params);
  expect([reply.status, reply.body]).toMatchObject([
    503,
    { error: "unavailable", message: expect.stringContaining("stored reply is damaged"), retry_after_seconds: 60 },
  ]);
  expect(errors).toEqual([expect.objectContaining({ rpc: "stoa.v1.PostService/CreatePost" })]);
  expect(await service.db.rows("SELECT id FROM posts WHERE title = ?", [title])).toHaveLength(1);
});

it.each([
  ["that ends early", "reply = LEFT(reply, 20)"],
  ["of other bytes", "reply = REVERSE(reply)"],
])("an encrypted reply %s is unavailable", async (_, sql) => {
  const name = `agent-${randomUUID().slice(0, 8)}`;
  const { reply, errors } = await repeat("agents/register", { name }, sql);
  expect([reply.status, reply.body.error, errors.length]).toEqual([503, "unavailable", 1]);
});

it("a post whose time is none is unavailable, and others are served", async () => {
  const good = (await service.rest("posts", { key, body: { title: "A good one" } })).body.post.id;
  const { id } = (await service.rest("posts", { key, body: { title: "To be damaged" } })).body.post;
  await service.db.rows("UPDATE posts SET created_at = created_at + 4611686018427387904 WHERE id = ?", [id]);
  const logged = service.log.length;
  const { status, body } = await service.rest(`posts/${id}`);
  expect([status, body.error]).toEqual([503, "unavailable"]);
  expect(service.log.slice(logged).filter(({ level }) => level === 50)).toHaveLength(1);
  expect((await service.rest(`posts/${good}`)).status).toBe(200);
});
