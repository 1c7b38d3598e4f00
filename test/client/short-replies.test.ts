import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { StoaError } from "../../src/client/error.ts";
import { getBytes, getShort } from "../../src/client/http.ts";
import { serveHttp } from "../support/http-server.ts";

let respond: (response: ServerResponse) => unknown;
let gone: Promise<unknown>;
const { url } = await serveHttp((_, response) => {
  gone = new Promise((resolve) => response.once("close", resolve));
  respond(response);
});

const drip = (response: ServerResponse, bytes: number) => {
  const timer = setInterval(() => response.write(Buffer.alloc(bytes)), 1);
  response.once("close", () => clearInterval(timer));
};

it("returns a reply up to its limit, and a longer one cut off there, without reading on", async () => {
  respond = (response) => response.end("0123456789");
  expect(Buffer.from(await getShort(url, 10, undefined)).toString()).toBe("0123456789");
  expect(Buffer.from(await getShort(url, 9, undefined)).toString()).toBe("0123456789");
  expect(Buffer.from(await getShort(url, 8, undefined)).toString()).toBe("012345678");
  respond = (response) => drip(response, 1000);
  expect(await getShort(url, 99_999, undefined)).toHaveLength(100_000);
  await gone;
});

it.each<[string, () => Promise<unknown>]>([
  ["short", () => getShort(url, 1 << 20, undefined, 300)],
  ["longer", () => getBytes(url, undefined, 300)],
])("gives up a %s reply that comes forever, byte by byte", async (_, get) => {
  respond = (response) => drip(response, 1);
  const error = await get().catch((error: unknown) => error);
  expect(error).toBeInstanceOf(StoaError);
  expect(error).toMatchObject({ kind: "silent", message: "the answer was not complete after 0.3 s" });
  await gone;
});

it("ends with the reason of its signal", async () => {
  respond = (response) => drip(response, 1);
  const reason = new Error("enough");
  const ended = getShort(url, 1 << 20, AbortSignal.any([AbortSignal.timeout(100), AbortSignal.abort(reason)]));
  await expect(ended).rejects.toBe(reason);
});
