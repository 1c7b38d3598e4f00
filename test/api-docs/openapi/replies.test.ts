import { once } from "node:events";
import { connect } from "node:http2";
import { describe, expect, it } from "vitest";
import { repliesChecked } from "../../support/openapi/check-replies.ts";
import { faultOf, type SentReply } from "../../support/openapi/replies.ts";
import { startService } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";

it("every reply in the tests is compared with the description, whatever the client and the protocol version", async () => {
  const service = await startService();
  const before = repliesChecked();
  await fetch(`${service.url}/api/v1/communities`, { method: "HEAD" });
  await fetch(`${service.url}/house/verify`);
  await service.rest("posts/1/nothing");
  const session = connect(service.url);
  await once(session.request({ ":path": "/api/v1/communities" }).resume(), "close");
  session.close();
  await waitUntil("four replies", () => repliesChecked() >= before + 4);
});

describe("the comparison of a reply with the description", () => {
  const vote = { ok: true, your_vote: 1, score: 1, upvotes: 1, downvotes: 0 };
  const json = "application/json; charset=utf-8";
  const headers = { "content-type": json, "x-request-id": "1", "cache-control": "private, no-store" };
  const sent = (changes: Partial<SentReply>, body: unknown = vote): SentReply => ({
    method: "POST",
    target: "/api/v1/posts/1/upvote?x=y",
    status: 200,
    headers,
    body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
    isWhole: true,
    ...changes,
  });
  const error = (code: string) => ({ ok: false, error: code });

  it("accepts described replies", () => {
    expect(faultOf(sent({}))).toBeUndefined();
    expect(faultOf(sent({ status: 403 }, error("own_content")))).toBeUndefined();
    expect(faultOf(sent({ target: "/api/v1/nothing", status: 404 }, error("not_found")))).toBeUndefined();
  });

  it.each([
    ["a member that is not described", sent({}, { ...vote, extra: 1 }), "extra"],
    ["a member that is missing", sent({}, { ...vote, score: undefined }), "score"],
    ["a status that is not described", sent({ status: 201 }), "no such status"],
    ["an error of another status", sent({ status: 404 }, error("own_content")), "allowed values"],
    ["a missing header", sent({ headers: { "content-type": json } }), "X-Request-Id"],
    ["success where there is nothing", sent({ target: "/api/v1/nothing" }), "no such operation"],
  ])("finds %s", (_, reply, fault) => {
    expect(faultOf(reply)).toContain(fault);
  });

  it.each([
    ["a line", "application/x-ndjson", `${JSON.stringify({ seq: 1 })}\n`],
    ["an event's data", "text/event-stream", `id: 1\ndata: ${JSON.stringify({ seq: 1 })}\n\n`],
    ["an event", "text/event-stream", `event: surprise\ndata: ${JSON.stringify(error("internal"))}\n\n`],
  ])("finds faults in a stream: %s", (_, type, body) => {
    const stream = { method: "GET", target: "/api/v1/house/receipts/stream" };
    expect(faultOf(sent({ ...stream, headers: { "content-type": type, "x-request-id": "1" } }, body))).toBeDefined();
  });
});
