// A request whose message comes long after its head: meanwhile the key has ended, or its agent was suspended.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { beforeEach, expect, it, vi } from "vitest";
import { VotePostRequestSchema } from "../../gen/stoa/v1/post_service_pb.js";
import { afterFile } from "../support/after-file.ts";
import { afterTest } from "../support/after-test.ts";
import { serverOf } from "../support/database-link.ts";
import { type Agent, operatorToken, spam, startModerated } from "../support/moderation.ts";
import { startRelay } from "../support/relay.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const service = await startModerated();
const post = await service.post(await service.register());

beforeEach(() => {
  // A head that has been read is old when the test says so, however slow the machine is.
  vi.useFakeTimers({ toFake: ["performance"] });
  afterTest(() => void vi.useRealTimers());
});

/** Longer than a message may take after its head. */
const becomeOld = () => void vi.advanceTimersByTime(200);

/** Sends the body of a request. @returns the status, and the code of the error */
type Finish = (body: string | Uint8Array) => Promise<unknown>;

function beginHttp1(path: string, method: string, key: string, url = service.url): Finish {
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "transfer-encoding": "chunked",
  };
  const sent = request(url + path, { method, headers });
  // A refusal may come before the body, and then nobody reads that.
  const replied = once(sent, "response");
  sent.on("error", () => undefined);
  sent.flushHeaders();
  return async (body) => {
    sent.end(body);
    const [response] = (await replied) as [IncomingMessage];
    const text = Buffer.concat(await response.toArray()).toString();
    return [response.statusCode, JSON.parse(text).error ?? JSON.parse(text).code];
  };
}

function beginGrpc(path: string, key: string): Finish {
  const session = connect(service.url);
  afterFile(() => session.destroy());
  const fields = { authorization: `Bearer ${key}`, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request({ ":method": "POST", ":path": path, ...fields }, { endStream: false });
  const ended = once(stream.resume(), "trailers");
  stream.on("error", () => undefined);
  return async (body) => {
    const frame = Buffer.from([0, 0, 0, 0, body.length]);
    stream.end(Buffer.concat([frame, Buffer.from(body as Uint8Array)]));
    const [trailers] = await ended;
    return trailers["grpc-status"];
  };
}

const vote = (key: string) => beginHttp1(`/api/v1/posts/${post}/vote`, "POST", key);
const ends: [string, (agent: Agent) => Promise<unknown>, [number, string], [number, string], string][] = [
  [
    "its agent was suspended",
    ({ name }) => service.operator.suspendAgent({ name, reason: spam }),
    [403, "forbidden"],
    [403, "permission_denied"],
    "7",
  ],
  [
    "the key was replaced",
    ({ key }) => service.rest("agents/me/key", { key, body: { grace_seconds: 0 } }),
    [401, "unauthorized"],
    [401, "unauthenticated"],
    "16",
  ],
];

it.each(ends)("changes nothing if %s", async (_what, end, rest, connectCode, grpcStatus) => {
  const agent = await service.register();
  const { key } = agent;
  const rpc = "/stoa.v1.PostService/VotePost";
  const begun: [Finish, string | Uint8Array, unknown][] = [
    [vote(key), '{"vote":1}', rest],
    [beginHttp1("/api/v1/communities", "POST", key), '{"name":"late","title":"Late"}', rest],
    [beginHttp1(`/api/v1/posts/${post}/report`, "POST", key), '{"reason":"spam","note":"Late"}', rest],
    [beginHttp1(rpc, "POST", key), `{"id":"${post}","vote":1}`, connectCode],
    [
      beginGrpc(rpc, key),
      toBinary(VotePostRequestSchema, create(VotePostRequestSchema, { id: BigInt(post), vote: 1 })),
      grpcStatus,
    ],
  ];
  await end(agent);
  // Each has been admitted, and is old now, or will be refused.
  becomeOld();
  for (const [finish, body, expected] of begun) expect(await finish(body)).toEqual(expected);
  const [rows] = await service.db.rows(`SELECT (SELECT COUNT(*) FROM communities WHERE name = 'late') AS communities,
    (SELECT COUNT(*) FROM reports) AS reports, (SELECT upvotes FROM posts WHERE id = ${post}) AS upvotes`);
  expect(rows).toEqual({ communities: 0, reports: 0, upvotes: 0 });
});

it("changes nothing if the key has ended while it was looked up", async () => {
  const { key, name } = await service.register();
  const passOn: (() => void)[] = [];
  const relay = await startRelay(serverOf(service.db.config), (client, server) => {
    client.pipe(server);
    server.on("data", (bytes) => {
      const answer = () => void client.write(bytes);
      if (passOn.length === 0 && bytes.includes(name)) passOn.push(answer);
      else answer();
    });
  });
  const { socketPath: _, ...account } = service.db.config;
  const config = { ...account, host: "127.0.0.1", port: relay.port };
  const { url } = await startService({ db: { ...service.db, config } });
  const finish = beginHttp1("/api/v1/posts/1/vote", "POST", key, url);
  await waitUntil("the answer to the look-up, which is held back", () => passOn.length > 0);
  expect((await service.rest("agents/me/key", { key, body: { grace_seconds: 0 } })).status).toBe(201);
  becomeOld();
  passOn[0]?.();
  expect(await finish('{"vote":1}')).toEqual([401, "unauthorized"]);
});

it("is served if nothing has changed, and so are the operator's", async () => {
  const { key, name } = await service.register();
  const begun = [vote(key), beginHttp1("/stoa.v1.ModerationService/SuspendAgent", "POST", operatorToken)];
  await service.rest("feed");
  becomeOld();
  expect(await begun[0]?.('{"vote":1}')).toEqual([200, undefined]);
  expect(await begun[1]?.(JSON.stringify({ name, reason: "MODERATION_REASON_SPAM" }))).toEqual([200, undefined]);
});
