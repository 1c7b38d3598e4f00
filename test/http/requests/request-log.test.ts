// What the log has of each request: enough to find out who abuses the service, and no secret.
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:http2";
import { describe, expect, it } from "vitest";
import { startLimited } from "../../support/limited.ts";
import { lockPost, someoneWaits } from "../../support/locks.ts";
import { waitUntil } from "../../support/wait.ts";

type Line = Record<string, unknown>;

const service = await startLimited({ posts: { calls: 2, windowSeconds: 60 } });
const { key } = await service.register("Logged");
const [row] = await service.db.rows<{ id: number }>("SELECT id FROM agents WHERE name = 'Logged'");
const agent = row?.id;
const postId: number = (await service.rest("posts", { key, body: { title: "Logged" } })).body.post.id;

/** The line of a request, by the id that it was sent with. */
async function lineOf(id: string, target = service): Promise<Line> {
  const find = () => target.log.find(({ reqId, msg }) => reqId === id && String(msg).startsWith("request"));
  await waitUntil(`the line of ${id}`, () => find() !== undefined);
  return find() as Line;
}
const withId = (id: string, more: Record<string, string> = {}) => ({
  "x-request-id": id,
  "user-agent": "probe/1",
  ...more,
});

describe("a request's line", () => {
  it("has who, what and how much: the ids of the path, the agent, the address, the user agent, the bytes", async () => {
    await service.from("203.0.113.9", `posts/${postId}?api_key=${key}`, { key, headers: withId("read") });
    const line = await lineOf("read");
    expect(line).toMatchObject({
      method: "GET",
      path: `/api/v1/posts/${postId}`,
      operation: "GetPost",
      status: 200,
      address: "203.0.113.9",
      agent,
      userAgent: "probe/1",
    });
    expect(line.bytes).toBeGreaterThan(300);
    expect(line.ms).toBeGreaterThan(0);
    expect(JSON.stringify(line)).not.toContain(key.slice(5));
  });

  it("says which limit refused it", async () => {
    const quotas = { reads: { calls: 2, windowSeconds: 60 }, refusals: { calls: 1, windowSeconds: 60 } };
    const flood = await startLimited(quotas, { db: service.db });
    const refused = async (id: string, address: string, path: string) => {
      await flood.from(address, path);
      const { status } = await flood.from(address, path, { headers: { "x-request-id": id } });
      expect(status).toBe(429);
      return (await lineOf(id, flood)).limit;
    };
    expect(await refused("a", "192.0.2.1", "agents/me")).toBe("refusals");
    await flood.from("192.0.2.2", "feed");
    expect(await refused("b", "192.0.2.2", "feed")).toBe("reads");
  });

  it("is written of a request whose client has gone", async () => {
    const lock = await lockPost(service.db, postId);
    const voter = await service.register();
    const headers = withId("gone", { authorization: `Bearer ${voter.key}` });
    const call = request(`${service.url}/api/v1/posts/${postId}/upvote`, { method: "POST", headers }).on(
      "error",
      () => {},
    );
    call.end();
    await someoneWaits(service.db);
    call.destroy();
    expect(await lineOf("gone")).toMatchObject({
      msg: "request aborted",
      path: `/api/v1/posts/${postId}/upvote`,
      address: "127.0.0.1",
      userAgent: "probe/1",
      agent: expect.any(Number),
      bytes: 0,
    });
    expect(await lineOf("gone")).not.toHaveProperty("status");
    await lock.release();
  });

  it.each(["http/1.1", "http/2"])(
    "has the status if the client goes while it reads the reply: %s",
    async (protocol) => {
      const id = `left-${protocol.at(-1)}`;
      const path = "/api/v1/house/receipts/stream?follow=true";
      if (protocol === "http/2") {
        const session = connect(service.url);
        const stream = session.request({ ":path": path, ...withId(id) });
        await once(stream, "response");
        session.destroy();
      } else {
        const call = request(service.url + path, { headers: withId(id) }).on("error", () => {});
        call.end();
        await once(call, "response");
        call.destroy();
      }
      expect(await lineOf(id)).toMatchObject({ msg: "request aborted", status: 200 });
      expect(service.log.filter(({ reqId, msg }) => reqId === id && String(msg).startsWith("request"))).toHaveLength(1);
    },
  );

  it("has no key that somebody puts where none belongs, and no long text", async () => {
    await service.rest(`agents/${key}`, {
      headers: { "x-request-id": "misplaced", "user-agent": `x ${key} ${"y ".repeat(200)}` },
    });
    const line = await lineOf("misplaced");
    expect(JSON.stringify(line)).not.toContain(key.slice(5));
    expect(String(line.userAgent).length).toBeLessThanOrEqual(201);
  });
});

it.each([
  ["truncated", "203.0.113.0/24", "2001:db8:1::/48"],
  ["none", undefined, undefined],
] as const)("has of addresses what the setting says: %s", async (logAddresses, ipv4, ipv6) => {
  const other = await startLimited({}, { db: service.db, config: { logAddresses } });
  await other.from("203.0.113.9", "feed", { headers: { "x-request-id": "four" } });
  await other.from("2001:db8:1:2::9", "feed", { headers: { "x-request-id": "six" } });
  expect((await lineOf("four", other)).address).toBe(ipv4);
  expect((await lineOf("six", other)).address).toBe(ipv6);
  expect(JSON.stringify(other.log)).not.toMatch(/203\.0\.113\.9|2001:db8:1:2/);
});

it("says once that a proxy may not be trusted", async () => {
  const other = await startLimited({}, { db: service.db, config: { trustProxy: [] } });
  const warnings = () => other.log.filter(({ msg }) => String(msg).includes("STOA_TRUST_PROXY"));
  await other.rest("feed");
  expect(warnings()).toEqual([]);
  for (let i = 0; i < 3; i++) await other.from("203.0.113.9", "feed");
  expect(warnings()).toMatchObject([{ level: 40 }]);
});
