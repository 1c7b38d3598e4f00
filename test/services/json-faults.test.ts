// What a message in JSON has wrong: a value of a wrong type, and names of enum values that the contract does not have, which
// Connect would ignore. The messages stand for each kind of field: of each type, within others, in a list.
import { expect, it } from "vitest";
import { startService } from "../support/service.ts";

const operatorToken = "an-operator-of-32-characters-or-more";

const service = await startService({ config: { operatorToken } });
const { key } = await service.register();

async function call(rpc: string, message: string, headers: Record<string, string> = {}, isGet = false) {
  const authorization = `Bearer ${/Operator|Moderation/.test(rpc) ? operatorToken : key}`;
  const url = `${service.url}/stoa.v1.${rpc}`;
  const query = `?connect=v1&encoding=json&message=${encodeURIComponent(message)}`;
  const reply = await (isGet
    ? fetch(url + query, { headers: { authorization } })
    : fetch(url, {
        method: "POST",
        headers: { authorization, "content-type": "application/json", ...headers },
        body: message,
      }));
  return { status: reply.status, text: await reply.text() };
}

const sort = "sort must be FEED_SORT_HOT, FEED_SORT_NEW or FEED_SORT_TOP.";
const seal = { book: "b", session: "2026-01-02", source: "s" };
it.each<[rpc: string, message: object, field: string, says: string]>([
  ["PostService/ListPosts", { sort: "best" }, "sort", sort],
  ["PostService/ListPosts", { sort: {} }, "sort", sort],
  ["PostService/ListPosts", { limit: "x" }, "limit", "limit must be an integer from 1 to 50."],
  ["PostService/ListPosts", { subscribed: 1 }, "subscribed", "subscribed must be true or false."],
  ["PostService/CreatePost", { title: 7, body: 7 }, "title", "title must be a string."],
  ["ModerationService/SuspendAgent", { until: 7 }, "until", "until must be a time as in RFC 3339."],
  ["ModerationService/UpdateCommunity", { appoint: "x" }, "appoint", "appoint must be an array."],
  ["ModerationService/UpdateCommunity", { appoint: [7] }, "appoint", "Each entry of appoint must be a string."],
  ["LedgerOperatorService/SealSessions", { sessions: [7] }, "sessions", "Each entry of sessions must be an object."],
  [
    "LedgerOperatorService/SealSessions",
    { sessions: [seal, { ...seal, book: 7 }] },
    "sessions[1].book",
    "sessions[1].book must be a string.",
  ],
])("%s %j names the field and what it takes", async (rpc, message, field, says) => {
  for (const isGet of rpc.includes("/List") ? [false, true] : [false]) {
    const { status, text } = await call(rpc, JSON.stringify(message), {}, isGet);
    expect([status, JSON.parse(text)]).toMatchObject([
      400,
      {
        code: "invalid_argument",
        message: says,
        details: expect.arrayContaining([expect.objectContaining({ debug: { error: "bad_input", field } })]),
      },
    ]);
  }
});

it("a list is not a message, although it has members of its own", async () => {
  const { status, text } = await call("PostService/ListPosts", "[7]");
  expect([status, JSON.parse(text)]).toMatchObject([
    400,
    { message: expect.stringContaining("cannot decode message") },
  ]);
});

it("an error quotes only the beginning of a long name", async () => {
  const name = "\u00e9".repeat(60_000);
  for (const [path, message] of [
    ["stoa.v1.PostService/ListPosts", `{"${name}":1,"${name}":1}`],
    ["api/v1/agents/register", `{"${name}":1,"${name}":1}`],
    ["api/v1/agents/register", `{"name":"abc","${name}":1}`],
  ]) {
    const headers = { "content-type": "application/json" };
    const reply = await fetch(`${service.url}/${path}`, { method: "POST", headers, body: message as string });
    expect(reply.status).toBe(400);
    const text = await reply.text();
    expect(text).toContain("éé");
    expect(text.length).toBeLessThan(2_000);
  }
});

it("other unknown members mean nothing, and gRPC-Web says the same", async () => {
  const good = await call("PostService/ListPosts", '{"sort": "FEED_SORT_NEW", "t": null, "other": "x"}');
  expect(good.status).toBe(200);
  const envelope = Buffer.concat([Buffer.from([0, 0, 0, 0, 16]), Buffer.from('{"sort": "best"}')]);
  const type = { "content-type": "application/grpc-web+json" };
  const grpcWeb = await call("PostService/ListPosts", envelope.toString("latin1"), type);
  expect(grpcWeb.text).toMatch(/^grpc-status: 3\r$/m);
  expect(decodeURIComponent(grpcWeb.text.replace(/[^ -~\n]/g, ""))).toContain(`grpc-message: ${sort}`);
});
