// What was changed in the database behind the service's back is unavailable, and logged; nothing is a 500.
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startService } from "../support/service.ts";

const service = await startService();
const { key } = await service.register();

interface Call {
  path: string;
  body: unknown;
  key?: string | undefined;
}

/** A call under an idempotency key, which has been made once, and the row that stores its response. */
async function makeOnce({ path, body, key: apiKey }: Call) {
  const ask = { key: apiKey, body, headers: { "idempotency-key": randomUUID() } };
  const before = await service.db.rows<{ id: Buffer }>("SELECT id FROM idempotency_replies");
  const first = await service.rest(path, ask);
  expect(first.status).toBeLessThan(300);
  const after = await service.db.rows<{ id: Buffer }>("SELECT id FROM idempotency_replies");
  const id = after.find((row) => !before.some((each) => each.id.equals(row.id)))?.id as Buffer;
  const repeatCall = async () => {
    const logged = service.log.length;
    const reply = await service.rest(path, ask);
    return { reply, errors: service.log.slice(logged).filter(({ level }) => level === 50) };
  };
  return { first, id, repeatCall };
}

it.each([
  ["no bytes", "reply = ''"],
  ["a lost value", "reply = NULL"],
  ["half of its bytes", "reply = LEFT(reply, FLOOR(LENGTH(reply) / 2))"],
  ["a wrong mark of secrecy", "sealed = 1"],
])("a stored response with %s is unavailable, and the call is not made again", async (_, sql) => {
  const title = `kept ${randomUUID()}`;
  const { id, repeatCall } = await makeOnce({ path: "posts", body: { title }, key });
  await service.db.rows(`UPDATE idempotency_replies SET ${sql} WHERE id = ?`, [id]);
  const { reply, errors } = await repeatCall();
  expect([reply.status, reply.body]).toMatchObject([
    503,
    { error: "unavailable", message: expect.stringContaining("stored reply is damaged"), retry_after_seconds: 60 },
  ]);
  expect(errors).toEqual([expect.objectContaining({ rpc: "stoa.v1.PostService/CreatePost" })]);
  expect(await service.db.rows("SELECT id FROM posts WHERE title = ?", [title])).toHaveLength(1);
});

describe("one changed byte of a stored row", () => {
  /** Flips one bit of a column in turn, in the first byte, the last one and some between, and repeats the call. */
  async function flipEach(call: Call, column: string) {
    const { first, id, repeatCall } = await makeOnce(call);
    const [row] = await service.db.rows<Record<string, Buffer>>(
      `SELECT ${column} AS bytes FROM idempotency_replies WHERE id = ?`,
      [id],
    );
    const bytes = row?.bytes as Buffer;
    const set = (value: Buffer) =>
      service.db.rows(`UPDATE idempotency_replies SET ${column} = ? WHERE id = ?`, [value, id]);
    const outcomes = new Set<string>();
    const step = Math.ceil(bytes.length / 12);
    const places = [...bytes.keys()].filter((index) => index % step === 0 || index === bytes.length - 1);
    for (const [turn, index] of places.entries()) {
      const damaged = Buffer.from(bytes);
      damaged.writeUInt8(damaged.readUInt8(index) ^ (1 << (turn % 8)), index);
      await set(damaged);
      const { reply, errors } = await repeatCall();
      outcomes.add(`${reply.status} ${reply.body.error} ${errors.length}`);
    }
    await set(bytes);
    const { reply } = await repeatCall();
    expect(reply.body).toEqual(first.body);
    return [...outcomes];
  }
  const post = () => ({ path: "posts", key, body: { title: `post ${randomUUID()}` } });

  it.each(["reply", "fingerprint"])("makes a post's %s unavailable", async (column) => {
    const call = post();
    expect(await flipEach(call, column)).toEqual(["503 unavailable 1"]);
    expect(await service.db.rows("SELECT id FROM posts WHERE title = ?", [call.body.title])).toHaveLength(1);
  });

  it("makes a response unavailable when it is in the check's hash", async () => {
    const { id, repeatCall } = await makeOnce(post());
    await service.db.rows(
      "UPDATE idempotency_replies SET reply_check = INSERT(reply_check, 24, 1, CHAR(ASCII(SUBSTRING(reply_check, 24)) ^ 1)) WHERE id = ?",
      [id],
    );
    expect((await repeatCall()).reply.status).toBe(503);
  });

  it("makes an encrypted response of a registration or a rotation unavailable", async () => {
    const name = `agent-${randomUUID().slice(0, 8)}`;
    expect(await flipEach({ path: "agents/register", body: { name } }, "reply")).toEqual(["503 unavailable 1"]);
    const rotating = await service.register();
    const rotation = { path: "agents/me/key", body: {}, key: rotating.key };
    expect(await flipEach(rotation, "reply")).toEqual(["503 unavailable 1"]);
  });

  it("never makes a call take effect again when it is in the time of the row", async () => {
    const call = post();
    const { id, repeatCall } = await makeOnce(call);
    for (let bit = 0; bit < 63; bit += 3) {
      const flip = `UPDATE idempotency_replies SET created_at = created_at ^ (1 << ${bit}) WHERE id = ?`;
      await service.db.rows(flip, [id]);
      const { reply } = await repeatCall();
      expect(reply.status, `bit ${bit}`).toBe(503);
      await service.db.rows(flip, [id]);
    }
    expect(await service.db.rows("SELECT id FROM posts WHERE title = ?", [call.body.title])).toHaveLength(1);
  });
});

it("a post with an invalid time is unavailable, and other posts are served", async () => {
  const good = (await service.rest("posts", { key, body: { title: "A good one" } })).body.post.id;
  const { id } = (await service.rest("posts", { key, body: { title: "To be damaged" } })).body.post;
  await service.db.rows("UPDATE posts SET created_at = created_at + 4611686018427387904 WHERE id = ?", [id]);
  const logged = service.log.length;
  const { status, body } = await service.rest(`posts/${id}`);
  expect([status, body.error]).toEqual([503, "unavailable"]);
  expect(service.log.slice(logged).filter(({ level }) => level === 50)).toHaveLength(1);
  expect((await service.rest(`posts/${good}`)).status).toBe(200);
});

it("a table that is gone makes the calls that need it unavailable, and is logged", async () => {
  const other = await service.register();
  const { body } = await service.rest("posts", { key: other.key, body: { title: "For votes" } });
  const vote = () => service.rest(`posts/${body.post.id}/upvote`, { key, method: "POST" });
  const logged = service.log.length;
  await service.db.rows("RENAME TABLE votes TO votes_away");
  const { status, body: error } = await vote();
  await service.db.rows("RENAME TABLE votes_away TO votes");
  expect([status, error.error, error.retry_after_seconds]).toEqual([503, "unavailable", 60]);
  expect(JSON.stringify(error)).not.toContain("votes_away");
  expect(service.log.slice(logged).some(({ level }) => level === 50)).toBe(true);
  expect((await vote()).status).toBe(200);
});
