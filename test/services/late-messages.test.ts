// A request whose message comes long after its head: meanwhile the key has ended, or its agent was suspended.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { beforeAll, beforeEach, expect, it, vi } from "vitest";
import { VotePostRequestSchema } from "../../gen/stoa/v1/post_service_pb.js";
import { afterFile } from "../support/after-file.ts";
import { afterTest } from "../support/after-test.ts";
import { type Agent, type Moderated, operatorToken, spam, startModerated } from "../support/moderation.ts";

let service: Moderated;
let post: number;
beforeAll(async () => {
  service = await startModerated();
  post = await service.post(await service.register());
});

beforeEach(() => {
  // A head that has been read is old when the test says so, however slow the machine is.
  vi.useFakeTimers({ toFake: ["performance"] });
  afterTest(() => void vi.useRealTimers());
});

/** Longer than a message may take after its head. */
const becomeOld = () => void vi.advanceTimersByTime(200);

/** Sends the body of a request. @returns the status, and the code of the error */
type Finish = (body: string | Uint8Array) => Promise<unknown>;

function beginHttp1(path: string, method: string, key: string): Finish {
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "transfer-encoding": "chunked",
  };
  const sent = request(service.url + path, { method, headers });
  sent.flushHeaders();
  return async (body) => {
    sent.end(body);
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    const text = Buffer.concat(await response.toArray()).toString();
    return [response.statusCode, JSON.parse(text).error ?? JSON.parse(text).code];
  };
}

function beginGrpc(path: string, key: string): Finish {
  const session = connect(service.url);
  afterFile(() => session.destroy());
  const fields = { authorization: `Bearer ${key}`, "content-type": "application/grpc", te: "trailers" };
  const stream = session.request({ ":method": "POST", ":path": path, ...fields }, { endStream: false });
  return async (body) => {
    const frame = Buffer.from([0, 0, 0, 0, body.length]);
    stream.end(Buffer.concat([frame, Buffer.from(body as Uint8Array)]));
    const [trailers] = await once(stream.resume(), "trailers");
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
  [
    "its agent has deleted itself",
    ({ key, name }) => service.rest("agents/me", { method: "DELETE", key, body: { name } }),
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

it("is served if nothing has changed, and so are the operator's", async () => {
  const { key, name } = await service.register();
  const begun = [vote(key), beginHttp1("/stoa.v1.ModerationService/SuspendAgent", "POST", operatorToken)];
  await service.rest("feed");
  becomeOld();
  expect(await begun[0]?.('{"vote":1}')).toEqual([200, undefined]);
  expect(await begun[1]?.(JSON.stringify({ name, reason: "MODERATION_REASON_SPAM" }))).toEqual([200, undefined]);
});
