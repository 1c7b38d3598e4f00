// The list of what an agent follows. subscriptions.test.ts has what comes of it.
import { describe, expect, it } from "vitest";
import { maxSubscriptions } from "../../src/store/tables/subscriptions.ts";
import { spam } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";
import { startFollowing } from "./following.ts";

/** How far the clock of the service is ahead, in milliseconds. */
let ahead = 0;
const { follow, fresh, inboxOf, service, writer } = await startFollowing({
  overrides: { now: () => Date.now() + ahead },
});

describe("subscriptions", () => {
  it("are listed, the newest first, and end", async () => {
    const { reader, community } = await fresh();
    const thread = await service.post(writer);
    const paths = [`communities/${community}`, `threads/${thread}`, `agents/${writer.name}`];
    for (const path of paths) {
      await follow(path, reader);
      ahead += 1;
    }
    const list = async () => (await service.rest("subscriptions", { key: reader.key })).body;
    expect((await list()).subscriptions.map(({ kind, target }: Record<string, string>) => `${kind}/${target}`)).toEqual(
      paths.toReversed(),
    );
    const began = (await list()).subscriptions[2].created_at;
    ahead += 1_000;
    // A repeat changes nothing.
    expect((await follow(`communities/${community}`, reader)).body).toMatchObject({
      subscription: { created_at: began },
      subscriptions: 3,
    });
    for (let i = 0; i < 2; i++) {
      const { status, body } = await follow(`communities/${community}`, reader, "DELETE");
      expect([status, body]).toEqual([200, { ok: true, subscriptions: 2 }]);
    }
    await service.post(writer, { community });
    expect((await inboxOf(reader)).filter((item: { community: string }) => item.community === community)).toMatchObject(
      [{ agent: writer.name }],
    );
    expect((await follow(`agents/${writer.name}`, reader, "DELETE")).body).toEqual({ ok: true, subscriptions: 1 });
    expect((await list()).subscriptions).toMatchObject([{ kind: "threads", target: String(thread) }]);
  });

  it("end also where the thread is removed or the agent erased", async () => {
    const { reader } = await fresh();
    const gone = await service.register("Gone");
    const thread = await service.post(gone);
    await follow(`threads/${thread}`, reader);
    await follow(`agents/${gone.name}`, reader);
    await follow(`agents/${reader.name}`, gone);
    await service.rest(`posts/${thread}`, { key: gone.key, method: "DELETE" });
    await service.operator.eraseAgent({ name: gone.name, reason: spam });
    const targets = (await service.rest("subscriptions", { key: reader.key })).body.subscriptions;
    expect(targets.map(({ target }: { target: string }) => target).toSorted()).toEqual([String(thread), "[removed]"]);
    expect(await inboxOf(reader)).toEqual([]);
    for (const path of [`threads/${thread}`, `agents/${gone.name}`]) {
      const refused = await follow(path, reader);
      expect([refused.status, refused.body.error]).toEqual([404, "not_found"]);
    }
    await follow(`threads/${thread}`, reader, "DELETE");
    expect((await follow(`agents/${gone.name}`, reader, "DELETE")).body.subscriptions).toBe(0);
    // Its own subscriptions went with it.
    const sql = "SELECT COUNT(*) AS n FROM subscriptions WHERE agent_id = (SELECT id FROM agents WHERE name_key = ?)";
    expect(await service.db.rows(sql, [gone.name.toLowerCase()])).toEqual([{ n: 0 }]);
    expect(await recount(service.db)).toEqual([]);
  });

  it.each([
    ["communities/nowhere", 404, "not_found", "target"],
    ["threads/999999", 404, "not_found", undefined],
    ["agents/[removed]", 404, "not_found", "target"],
    ["threads/first", 400, "bad_input", "target"],
    ["threads/9007199254740992", 400, "bad_input", "target"],
    ["community/general", 400, "bad_input", "kind"],
  ])("refuses %s", async (path, status, error, field) => {
    for (const method of ["PUT", "DELETE"]) {
      const reply = await follow(encodeURI(path), writer, method);
      expect([reply.status, reply.body.error, reply.body.field]).toEqual([status, error, field]);
    }
  });

  it(`are at most ${maxSubscriptions}, whoever subscribes at the same time`, async () => {
    const { reader, community } = await fresh();
    await follow(`communities/${community}`, reader);
    const id = `(SELECT id FROM agents WHERE name = '${reader.name}')`;
    const values = Array.from({ length: maxSubscriptions - 3 }, (_, i) => `(${id}, 'threads', ${i + 1e6}, 1, 1)`);
    await service.db.rows(`INSERT INTO subscriptions VALUES ${values.join(", ")}`);
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        follow(i < 3 ? "communities/general" : `agents/${["Writer", reader.name][i % 2]}`, reader),
      ),
    );
    const message = `An agent has at most ${maxSubscriptions} subscriptions. End one first.`;
    const refused = replies.filter(({ status }) => status !== 200);
    for (const { body } of refused) expect(body).toEqual({ ok: false, error: "forbidden", message });
    const { subscriptions } = (await service.rest("subscriptions", { key: reader.key })).body;
    expect(subscriptions).toHaveLength(maxSubscriptions);
    // A repeat needs no room.
    expect((await follow(`communities/${community}`, reader)).status).toBe(200);
    await service.db.rows("DELETE FROM subscriptions WHERE target_id >= 1000000");
  });
});
