// Calls with a valid key count only against the limit of their agent, whatever other clients at the same address have done. How
// long a replica goes by what it knows of a key, a key that is replaced on another one shows.
import { createHash } from "node:crypto";
import { connect as connectHttp2 } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeEach, describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { type Limited, startLimited, untilRefused } from "../support/limited.ts";

const randomKey = () => `stoa_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")}`;
const minute = { windowSeconds: 60 };
/** Very little for an address. */
const tight = {
  reads: { calls: 3, ...minute },
  refusals: { calls: 3, ...minute },
  credentials: { calls: 3, ...minute },
};

/** Spends all that an address has. */
async function exhaust(service: Limited): Promise<void> {
  for (let i = 0; i < 3; i++) await service.rest("agents/me", { key: randomKey() });
  for (let i = 0; i < 3; i++) await service.rest("feed");
  for (let i = 0; i < 3; i++) await service.rest("agents/me");
  expect((await service.rest("feed")).status).toBe(429);
  expect((await service.rest("agents/me", { key: randomKey() })).status).toBe(429);
}

/** Runs `work` while nobody can read the agents: a request that looks a key up fails when its time is over. */
async function withAgentsLocked({ db }: Limited, work: () => Promise<void>): Promise<void> {
  const connection = await db.pool.getConnection();
  try {
    await connection.query("LOCK TABLES agents WRITE");
    await work();
  } finally {
    await connection.query("UNLOCK TABLES");
    connection.release();
  }
}

let name: string;
let key: string;
/** Two replicas; the agent's key is known to the one that gave it out. */
const service = await startLimited(tight);
const replica = await startLimited(tight, { db: service.db, clock: service.clock });
beforeEach(async () => {
  // All limits are regained by then, and all keys forgotten.
  service.clock.pass(3600);
  ({ name, key } = await service.register());
});

describe("an address that has spent all its limits", () => {
  const ways: [string, (at: Limited) => Promise<unknown>][] = [
    ["a read", async (at) => (await at.rest("feed", { key })).status],
    ["a call that needs a key", async (at) => (await at.rest("agents/me", { key })).status],
    ["a page", (at) => statusOf(`${at.url}/`)],
    ["a stream", (at) => statusOf(`${at.url}/api/v1/house/receipts/stream`)],
    ["Connect", (at) => listPosts(at)],
    ["a call over gRPC that needs a key", (at) => getMe(at)],
    ["HTTP/2", (at) => overHttp2(at)],
  ];
  const statusOf = async (url: string) => {
    const reply = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    await reply.arrayBuffer();
    return reply.status;
  };
  const signed = () => ({ headers: { authorization: `Bearer ${key}` } });
  const listPosts = async (at: Limited) => {
    await at.connect(PostService).listPosts({}, signed());
    return 200;
  };
  const getMe = async (at: Limited) => {
    await at.connect(AgentService, "grpc").getMe({}, signed());
    return 200;
  };
  const overHttp2 = async (at: Limited) => {
    const session = connectHttp2(at.url);
    const stream = session.request({ ":path": "/api/v1/feed", ...signed().headers });
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    stream.on("response", (headers) => resolve(headers[":status"])).on("error", reject);
    stream.resume();
    try {
      return await promise;
    } finally {
      session.close();
    }
  };

  it("does not stop the first use of a good key on another replica", async () => {
    await exhaust(replica);
    for (const [index, [way, ask]] of ways.entries()) {
      const { body } = await service.from(`203.0.113.${index}`, "agents/register", {
        body: { name: `agent-${index}` },
      });
      key = body.api_key;
      expect([way, await ask(replica)]).toEqual([way, 200]);
      expect((await replica.rest("feed", { key })).headers.get("ratelimit")).toMatch(/^"calls";r=2998;/);
    }
  });

  it("does not stop a rotated key, nor the previous key during its grace", async () => {
    await exhaust(replica);
    const { body } = await service.rest("agents/me/key", { key, body: { grace_seconds: 60 } });
    for (const each of [key, body.api_key]) expect((await replica.rest("feed", { key: each })).status).toBe(200);
    service.clock.pass(60);
    const another = await startLimited(tight, { db: service.db, clock: service.clock });
    await exhaust(another);
    expect((await another.rest("feed", { key: body.api_key })).status).toBe(200);
    expect((await another.rest("feed", { key })).status).toBe(429);
  });
});

describe("a good key", () => {
  it("spends nothing from its address: not at its first use, nor for reads, mistakes and unknown addresses", async () => {
    for (let i = 0; i < 5; i++) {
      expect((await replica.rest("feed", { key })).status).toBe(200);
      expect((await replica.rest("posts/abc", { key })).status).toBe(400);
      expect((await replica.rest("posts", { key, body: "{" })).status).toBe(400);
      expect((await replica.rest("nothing", { key })).status).toBe(404);
      const over = replica.connect(PostService).getPost({ id: 4711n }, { headers: { authorization: `Bearer ${key}` } });
      expect(ConnectError.from(await over.catch((error) => error)).code).toBe(Code.NotFound);
    }
    for (let i = 0; i < 3; i++) expect((await replica.rest("agents/me", { key: randomKey() })).status).toBe(401);
    expect((await replica.rest("agents/me")).status).toBe(429);
  });

  it("over the limit of its agent's calls is refused without a query", async () => {
    const { db, clock } = service;
    const limited = await startLimited({ calls: { calls: 4, ...minute } }, { db, clock });
    const agent = await limited.register();
    expect((await untilRefused(() => limited.rest("agents/me", { key: agent.key }))).allowed).toBe(4);
    await withAgentsLocked(limited, async () => {
      for (const path of ["agents/me", "feed", "nothing"]) {
        expect((await limited.rest(path, { key: agent.key })).headers.get("ratelimit")).toBe('"calls";r=0;t=15');
      }
      expect((await limited.rest("posts", { key: agent.key, body: { title: "Too soon" } })).status).toBe(429);
    });
  });

  it("that is revoked stops counting for its agent once a call that needs a key has refused it", async () => {
    expect((await replica.rest("feed", { key })).status).toBe(200);
    await service.rest("agents/me/key", { key, body: { grace_seconds: 0 } });
    expect((await replica.rest("agents/me", { key })).status).toBe(401);
    expect((await replica.rest("feed", { key })).headers.get("ratelimit")).toMatch(/^"reads"/);
  });
});

describe("wrong keys", () => {
  it("on public reads are ignored, and count as wrong", async () => {
    for (let i = 0; i < 3; i++) {
      const { status, headers } = await replica.rest("feed", { key: randomKey() });
      expect([status, headers.get("ratelimit")]).toEqual([200, expect.stringMatching(/^"reads".*"credentials"/)]);
    }
    expect((await replica.rest("agents/me", { key: randomKey() })).status).toBe(429);
  });

  it("cost no query when repeated after their address has sent too many", async () => {
    const wrong = randomKey();
    for (let i = 0; i < 4; i++) await service.rest("agents/me", { key: wrong });
    await withAgentsLocked(service, async () => {
      for (let i = 0; i < 5; i++) expect((await service.rest("agents/me", { key: wrong })).status).toBe(429);
    });
  });

  it("do not hide a good key among simultaneous wrong ones", async () => {
    const flood = Promise.all(Array.from({ length: 30 }, () => replica.rest("agents/me", { key: randomKey() })));
    const good = await replica.rest("agents/me", { key });
    const statuses = (await flood).map(({ status }) => status);
    expect(good.status).toBe(200);
    expect(statuses.filter((status) => status === 401)).toHaveLength(3);
    expect(statuses.filter((status) => status === 429)).toHaveLength(27);
  });
});

describe("what is known of a key", () => {
  const knownMs = 600_000;
  const wrongMs = 10_000;

  /** Reads with a key. @returns the limit that the read counts for: that of calls if the key is taken as good */
  async function limitOf(at: Limited, shown = key): Promise<string | undefined> {
    const { headers } = await at.rest("feed", { key: shown });
    return /^"(\w+)"/.exec(headers.get("ratelimit") ?? "")?.[1];
  }

  /** Makes `newKey` the agent's only key. No replica notices. */
  async function replaceKey(newKey: string = crypto.randomUUID()): Promise<void> {
    const hash = createHash("sha256").update(newKey).digest();
    await service.db.pool.query("UPDATE agents SET key_hash = ? WHERE name = ?", [hash, name]);
  }

  it("holds for ten minutes after a look-up, which a read without one does not prolong", async () => {
    expect(await limitOf(replica)).toBe("calls");
    await replaceKey();
    service.clock.now += knownMs;
    expect(await limitOf(replica)).toBe("calls");
    service.clock.now += 1;
    expect(await limitOf(replica)).toBe("reads");
  });

  it("holds for ten minutes after a call that needs the key, which always looks it up", async () => {
    service.clock.now += knownMs;
    expect((await service.rest("agents/me", { key })).status).toBe(200);
    await replaceKey();
    service.clock.now += knownMs;
    expect(await limitOf(service)).toBe("calls");
    service.clock.now += 1;
    expect(await limitOf(service)).toBe("reads");
  });

  it("holds for ten seconds if it is wrong, and its address has sent too many", async () => {
    const guess = randomKey();
    for (let guesses = 0; guesses < 3; guesses++) expect(await limitOf(service, guess)).toBe("reads");
    await replaceKey(guess);
    service.clock.now += wrongMs;
    expect(await limitOf(service, guess)).toBe("reads");
    service.clock.now += 1;
    expect(await limitOf(service, guess)).toBe("calls");
  });
});
