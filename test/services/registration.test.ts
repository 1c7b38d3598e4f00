// Who may register agents: anybody, who shows the operator's registration token, or nobody. Over every protocol.
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeAll, describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import { type Limited, startLimited } from "../support/limited.ts";
import { rowCounts } from "../support/recount.ts";
import { type Ask, type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const token = "an-example-of-a-registration-token";
const wrong = "an-example-of-another-one-of-those";
const header = "x-registration-token";
const refusal = "Registration on this board needs a token from its operator: X-Registration-Token: <token>.";
const closure = "Registration is closed on this board.";

let count = 0;
const unique = () => `agent-${++count}`;

/** Registers by REST, with a token if there is one. */
const register = (service: Service, shown?: string, ask: Ask = {}) =>
  service.rest("agents/register", {
    body: { name: unique() },
    ...ask,
    headers: { ...ask.headers, ...(shown === undefined ? {} : { [header]: shown }) },
  });

async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  return ConnectError.from(
    await call.then(
      () => undefined,
      (error) => error,
    ),
  );
}

describe("with a token", () => {
  let service: Limited;
  beforeAll(async () => {
    const small = { credentials: { calls: 3, windowSeconds: 60 }, refusals: { calls: 1000, windowSeconds: 60 } };
    service = await startLimited(small, { config: { registration: { mode: "token", token } } });
  });
  /** Each test has an address of its own: wrong tokens count. */
  const from = (address: string, shown?: string, ask: Ask = {}) =>
    register(service, shown, { ...ask, headers: { ...ask.headers, "x-forwarded-for": address } });

  it("the right one registers over REST, and the agent writes without it", async () => {
    const { status, body } = await from("192.0.2.1", token);
    expect(status).toBe(201);
    const post = await service.rest("posts", { key: body.api_key, body: { title: "Let in" } });
    expect(post.status).toBe(201);
    expect((await service.rest("agents/me/key", { key: body.api_key, body: {} })).status).toBe(201);
  });

  let address = 100;
  it.each([
    ["none", undefined],
    ["a wrong one", wrong],
    ["a prefix of it", token.slice(0, -1)],
    ["more than it", `${token}x`],
    ["another case", token.toUpperCase()],
  ])("%s is unauthorized, in the same words, and does not ask for an API key", async (_, shown) => {
    const before = await rowCounts(service.db);
    const reply = await from(`192.0.2.${++address}`, shown);
    expect([reply.status, reply.body]).toEqual([401, { ok: false, error: "unauthorized", message: refusal }]);
    expect(reply.headers.get("www-authenticate")).toBe("X-Registration-Token");
    expect(await rowCounts(service.db)).toEqual(before);
  });

  it("the token in the body, in the query or as a bearer token counts for nothing", async () => {
    const name = unique();
    for (const ask of [
      { body: { name, [header]: token } },
      { body: { name, registration_token: token } },
      { body: { name }, key: token },
    ]) {
      expect((await from("192.0.2.2", undefined, ask)).status).toBe(401);
    }
    const query = await service.rest(`agents/register?X-Registration-Token=${token}`, { body: { name } });
    expect(query.status).toBe(401);
    // With the token, the body is read: it takes no further members.
    const extra = await from("192.0.2.2", token, { body: { name, registration_token: token } });
    expect([extra.status, extra.body.error]).toEqual([400, "bad_input"]);
  });

  it("comes before the body: who lacks it learns nothing of its faults", async () => {
    for (const body of ["{", { name: "x" }, { name: "Zeno", extra: 1 }, "x".repeat(300_000)]) {
      expect((await from("192.0.2.3", undefined, { body })).status).toBe(401);
    }
    expect((await from("192.0.2.3", token, { body: "{" })).body.error).toBe("bad_json");
    // A name that is in use is only told to who has it.
    const name = unique();
    expect((await from("192.0.2.3", token, { body: { name } })).status).toBe(201);
    expect((await from("192.0.2.3", undefined, { body: { name } })).status).toBe(401);
    expect((await from("192.0.2.3", token, { body: { name } })).body.error).toBe("name_taken");
  });

  it("pages of other sites may not register even with it", async () => {
    const reply = await from("192.0.2.4", token, { headers: { "sec-fetch-site": "cross-site" } });
    expect([reply.status, reply.body.error]).toEqual([403, "forbidden"]);
    const preflight = await service.rest("agents/register", { method: "OPTIONS" });
    expect(preflight.headers.get("access-control-allow-methods")).toBe("GET, HEAD");
    expect(JSON.stringify([...preflight.headers]).toLowerCase()).not.toContain("registration");
    expect((await from("192.0.2.4", token)).headers.get("access-control-allow-origin")).toBeNull();
  });

  it("over gRPC the metadata holds it", async () => {
    const client = service.connect(AgentService, "grpc");
    const address = { "x-forwarded-for": "198.51.100.1" };
    const reply = await client.registerAgent({ name: unique() }, { headers: { ...address, [header]: token } });
    expect(reply.apiKey).toMatch(/^stoa_/);
    for (const shown of [undefined, wrong]) {
      const headers = { ...address, ...(shown === undefined ? {} : { [header]: shown }) };
      const error = await failureOf(client.registerAgent({ name: "x" }, { headers }));
      expect([error.code, error.rawMessage]).toEqual([Code.Unauthenticated, refusal]);
      expect(error.findDetails(ErrorDetailSchema)).toEqual([expect.objectContaining({ error: "unauthorized" })]);
      expect(error.metadata.get("www-authenticate")).toBe("X-Registration-Token");
    }
  });

  it("wrong ones count against their address; the right one is accepted whatever it has sent", async () => {
    const address = "203.0.113.1";
    const { api_key: key } = (await from("203.0.113.3", token)).body;
    for (let left = 2; left >= 0; left--) {
      // A valid API key beside it makes no difference.
      const { status, headers } = await from(address, wrong, left === 1 ? { key } : {});
      expect([status, headers.get("ratelimit")]).toEqual([401, expect.stringContaining(`"credentials";r=${left};`)]);
    }
    const refused = await from(address, wrong);
    expect(refused.body).toEqual({
      ok: false,
      error: "rate_limited",
      message: "Too many wrong API keys and tokens from this address; try again in 20 s.",
      retry_after_seconds: 20,
    });
    expect((await from(address, undefined)).status).toBe(401);
    expect((await from(address, token)).status).toBe(201);
    expect((await from("203.0.113.2", wrong)).status).toBe(401);
  });

  it("a repeat by Idempotency-Key needs it, too", async () => {
    const ask = { body: { name: unique() }, headers: { "idempotency-key": crypto.randomUUID() } };
    const first = await from("203.0.113.5", token, ask);
    expect(first.status).toBe(201);
    for (const shown of [undefined, wrong]) {
      const refused = await from("203.0.113.5", shown, ask);
      expect([refused.status, JSON.stringify(refused.body)]).toEqual([401, expect.not.stringContaining("stoa_")]);
    }
    const again = await from("203.0.113.5", token, ask);
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body).toEqual(first.body);
  });

  it("neither it nor a wrong one is ever logged", async () => {
    await from("203.0.113.6", token, { headers: { "user-agent": `curl ${token}` } });
    await from("203.0.113.6", wrong);
    const lines = () => service.log.filter(({ address, msg }) => address === "203.0.113.6" && msg === "request");
    await waitUntil("the lines of both", () => lines().length === 2);
    const log = JSON.stringify(service.log);
    expect(log).not.toContain(token);
    expect(log).not.toContain(wrong);
  });

  it("the guide, the description and the home page say so, and never show it", async () => {
    const [skill, llms, description, home] = await textsOf(service);
    for (const text of [skill, llms, description, home]) {
      expect(text).toMatch(/token/);
      expect(text).not.toContain(token);
    }
    expect(skill).toContain(`/agents/register -H "X-Registration-Token: $REGISTRATION_TOKEN" -H "Idempotency-Key: `);
    expect(parametersIn(description)).toMatchObject({ "X-Registration-Token": { in: "header", required: true } });
  });
});

describe("closed", async () => {
  const open = await startService();
  const headers = { "idempotency-key": crypto.randomUUID() };
  const { api_key: key } = (await register(open, undefined, { body: { name: "Early" }, headers })).body;
  const service = await startService({ db: open.db, config: { registration: { mode: "closed", token: undefined } } });

  it("registration is forbidden over REST, before the body is read and with any token", async () => {
    for (const ask of [{}, { body: "{" }, { key }, { body: { name: "Early" }, headers }]) {
      for (const shown of [undefined, token]) {
        const { status, body } = await register(service, shown, ask);
        expect([status, body]).toEqual([403, { ok: false, error: "forbidden", message: closure }]);
      }
    }
  });

  it("agents that are registered write and rotate their keys", async () => {
    expect((await service.rest("posts", { key, body: { title: "Still here" } })).status).toBe(201);
    expect((await service.rest("agents/me/key", { key, body: {} })).status).toBe(201);
  });

  it("the guide, the description and the home page say so", async () => {
    const [skill, , description, home] = await textsOf(service);
    for (const text of [skill, description, home]) expect(text).toMatch(/registration is closed/i);
    expect(home).not.toContain("curl");
    expect(parametersIn(description)).not.toHaveProperty("X-Registration-Token");
  });

  it("while it is open, a token is ignored, and the guide and the description ask for none", async () => {
    expect([(await register(open)).status, (await register(open, wrong)).status]).toEqual([201, 201]);
    const [skill, , description] = await textsOf(open);
    expect(skill).not.toContain("X-Registration-Token");
    expect(parametersIn(description)).not.toHaveProperty("X-Registration-Token");
  });
});

/** What agents and people read of a service. */
async function textsOf({ url }: Pick<Service, "url">): Promise<string[]> {
  const paths = ["/skill.md", "/llms.txt", "/api/v1/openapi.json", "/"];
  const headers = { accept: "text/html, */*" };
  return Promise.all(paths.map(async (path) => (await fetch(url + path, { headers })).text()));
}

/** The parameters of a registration in the description, by their names. */
function parametersIn(description = ""): Record<string, object> {
  const { parameters } = JSON.parse(description).paths["/api/v1/agents/register"].post;
  return Object.fromEntries(parameters.map((each: { name?: string }) => [each.name, each]));
}
