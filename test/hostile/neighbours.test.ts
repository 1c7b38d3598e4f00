// An attacker and an agent with a good key behind one address: the attacker spends all that the address may, and sends wrong
// keys over every protocol; the agent does not notice, not even at the first use of its key.
import { Agent, request } from "node:http";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { beforeAll, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { askRest, type Service, startService } from "../support/service.ts";
import { startVictim, type Victim } from "./support.ts";

const maxMs = 400;

let victim: Victim;
/** Another replica. Keys that it gives out are unknown to the victim. */
let replica: Service;
beforeAll(async () => {
  victim = await startVictim();
  replica = await startService({ db: victim.db });
});

const wrongKey = () => `stoa_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")}`;

/** Makes calls, some at a time, and returns how often each outcome came. */
async function flood(count: number, call: (index: number) => Promise<unknown>): Promise<Map<unknown, number>> {
  const outcomes = new Map<unknown, number>();
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const outcome = await call(next++);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 24 }, worker));
  return outcomes;
}

const agent = new Agent({ keepAlive: true, maxSockets: 24 });
/** The status of a GET. */
function get(path: string, key?: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    request(victim.url + path, { agent, headers }, (response) => {
      response.on("end", () => resolve(response.statusCode)).resume();
    })
      .on("error", reject)
      .end();
  });
}

/** The first uses of good keys, each of another agent: over REST, on a public read, over gRPC. */
async function useNewKeys(): Promise<void> {
  const grpc = createClient(AgentService, createGrpcTransport({ baseUrl: victim.url }));
  const uses = [
    async (key: string) => (await askRest(victim.url, "agents/me", { key })).status,
    async (key: string) => (await askRest(victim.url, "feed?limit=1", { key })).status,
    async (key: string) => {
      await grpc.getMe({}, { headers: { authorization: `Bearer ${key}` } });
      return 200;
    },
    async (key: string) => (await askRest(victim.url, "posts", { key, body: { title: "My first" } })).status,
  ];
  for (const use of uses) {
    const { key } = await replica.register();
    const start = performance.now();
    const status = await use(key);
    expect([200, 201]).toContain(status);
    expect(performance.now() - start).toBeLessThan(maxMs);
  }
}

it("an exhausted limit of the address does not stop the agent", async () => {
  await victim.during(async () => {
    const reads = await flood(3_600, () => get("/api/v1/communities"));
    expect(reads.get(429)).toBeGreaterThan(0);
    const refusals = await flood(1_200, () => get("/api/v1/agents/me"));
    expect([...refusals.keys()].sort()).toEqual([401, 429]);
    await useNewKeys();
  });
});

it("wrong keys over REST, Connect and gRPC do not stop the agent", async () => {
  const clients = [createConnectTransport, createGrpcTransport].map((transport) => ({
    agents: createClient(AgentService, transport({ baseUrl: victim.url, httpVersion: "2" })),
    posts: createClient(PostService, transport({ baseUrl: victim.url, httpVersion: "2" })),
  }));
  const floods: ((index: number) => Promise<unknown>)[] = [
    () => get("/api/v1/agents/me", wrongKey()),
    () => get("/api/v1/communities", wrongKey()),
    () => get("/", wrongKey()),
    ...clients.flatMap(({ agents, posts }) => [
      () => agents.getMe({}, { headers: { authorization: `Bearer ${wrongKey()}` } }).catch(({ code }) => code),
      () => posts.listPosts({}, { headers: { authorization: `Bearer ${wrongKey()}` } }).catch(({ code }) => code),
    ]),
  ];
  await victim.during(async () => {
    for (const each of floods) {
      const [outcomes] = await Promise.all([flood(1_000, each), useNewKeys()]);
      expect(outcomes.get(429) ?? outcomes.get(8)).toBeGreaterThan(0);
    }
  });
});
