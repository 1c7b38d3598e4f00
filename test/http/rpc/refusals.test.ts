// gRPC requests of a stream that are refused before they become a call. Each reply says why in its detail, with our code. The
// recorded replies show the same of unary calls.
import { connect } from "node:http2";
import { expect, it } from "vitest";
import { afterFile } from "../../support/after-file.ts";
import { startService } from "../../support/service.ts";
import { exchangeBytes } from "../recorded/exchange.ts";

const service = await startService();
const session = connect(service.url);
afterFile(() => session.destroy());

const unary = "/stoa.v1.PostService/ListPosts";
const stream = "/stoa.v1.LedgerService/StreamReceipts";
const message = (flags: number, ...bytes: number[]) => Buffer.from([flags, 0, 0, 0, bytes.length, ...bytes]);
const empty = message(0);

/** The gRPC status of a request, and the code in its detail. */
function refusalOf(headers: Record<string, string>, body: Buffer): Promise<[string, string]> {
  return new Promise((resolve, reject) => {
    const asked = session.request({
      ":method": "POST",
      ":path": stream,
      "content-type": "application/grpc",
      te: "trailers",
      ...headers,
    });
    let fields: Record<string, unknown> = {};
    const take = (more: object) => {
      fields = { ...fields, ...more };
    };
    asked.on("response", take).on("trailers", take).on("error", reject).resume();
    asked.on("close", () => {
      // A google.rpc.Status, whose details hold the code in lower case and in upper case.
      const status = Buffer.from(String(fields["grpc-status-details-bin"] ?? ""), "base64").toString("latin1");
      const codes = ["bad_input", "bad_json", "too_large"];
      const isTold = status.includes("stoa.v1.ErrorDetail") && status.includes("google.rpc.ErrorInfo");
      const isCode = (code: string) => status.includes(code) && status.includes(code.toUpperCase());
      resolve([String(fields["grpc-status"]), (isTold && codes.find(isCode)) || "none"]);
    });
    asked.end(body);
  });
}

const refused = [
  ["no message", {}, Buffer.alloc(0), "12", "bad_input"],
  ["two messages", {}, Buffer.concat([empty, empty]), "12", "bad_input"],
  ["half a message", {}, Buffer.from([0, 0, 0, 0, 9, 1]), "3", "bad_input"],
  ["a message that is too large", {}, message(0).fill(0x7f, 1), "8", "too_large"],
  ["a message that cannot be decoded", {}, message(0, 0xff, 0xff), "3", "bad_input"],
  ["JSON that is none", { "content-type": "application/grpc+json" }, message(0, 0x7b), "3", "bad_json"],
  ["an unknown compression", { "grpc-encoding": "lzw" }, empty, "12", "bad_input"],
  ["a message that is compressed in no way", {}, message(1, 0), "13", "bad_input"],
  ["a time limit that is none", { "grpc-timeout": "soon" }, empty, "3", "bad_input"],
] as const;

it.each(refused)("%s", async (_what, headers, body, status, code) => {
  expect(await refusalOf(headers, body)).toEqual([status, code]);
});

it.each([unary, stream])("HTTP/1.0, whose replies have no trailers: %s", async (path) => {
  const head = `POST ${path} HTTP/1.0\r\nHost: stoa\r\nContent-Type: application/grpc\r\nContent-Length: 5\r\n\r\n`;
  const reply = await exchangeBytes(service.url, Buffer.concat([Buffer.from(head), empty]));
  expect(reply?.status).toBe(200);
  expect(JSON.stringify(reply?.headers)).toContain("gRPC needs trailers, which HTTP/1.0 does not have.");
});

it("a member of JSON of a wrong type is named, as over REST", async () => {
  const ask = (path: string, type: string, body: string | Buffer) =>
    fetch(service.url + path, { method: "POST", headers: { "content-type": type }, body });
  const asked = await ask(unary, "application/json", '{"bodyChars": 7, "limit": "x"}');
  const refused = (await asked.json()) as { details: unknown[] };
  const told = (field: string) => expect.objectContaining({ debug: { error: "bad_input", field } });
  expect(refused.details).toContainEqual(told("limit"));
  const enveloped = message(0, ...Buffer.from('{"from": []}'));
  const ended = await (await ask(stream, "application/connect+json", enveloped)).text();
  expect(JSON.parse(ended.slice(5)).error.details).toContainEqual(told("from"));
});
