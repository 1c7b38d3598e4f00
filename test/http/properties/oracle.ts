import { expect } from "vitest";
import { errorStatus } from "../../../src/errors.ts";
import type { RestBinding } from "./contract.ts";
import { describeRequest, type RawReply, type RawRequest } from "./raw-http.ts";

const jsonType = "application/json; charset=utf-8";
/** What Node's parser refuses before there is a request is bad_input as well, under a status of its own. */
const transportStatuses = [408, 417, 431];

/**
 * Checks that a reply is one that the documentation knows: a success of the binding, or the exact Error shape.
 * @returns the body of a success in JSON; undefined for any other reply
 * @throws AssertionError with the request
 */
// biome-ignore lint/suspicious/noExplicitAny: the reply is read as an untyped client does.
export function checkReply(binding: RestBinding, request: RawRequest, reply: RawReply | undefined): any {
  const asked = describeRequest(request);
  if (reply === undefined) {
    expect(request.isCutOff, `no reply to\n${asked}`).toBe(true);
    return undefined;
  }
  const { status, headers, body } = reply;
  const shown = `${status} ${body.toString("utf8").slice(0, 500)} to\n${asked}`;
  expect(headers.get("x-request-id"), shown).toBeTruthy();
  if (status === 204) return void expect(request.method, shown).toBe("OPTIONS");
  if (status === 304 || (request.method === "HEAD" && body.length === 0)) {
    expect(body.length, shown).toBe(0);
    expect(request.method, shown).toMatch(/^(?:GET|HEAD)$/);
    return void expect(status, shown).toBeLessThan(500);
  }
  if (status === binding.status && request.method === binding.method) {
    if (headers.get("content-type") !== jsonType) return undefined;
    expect(body.toString("utf8", 0, 10), shown).toBe('{"ok":true');
    return JSON.parse(body.toString("utf8"));
  }
  // The path may be another binding's as well, for another method.
  if (status === 200 && ["GET", "PUT", "PATCH", "DELETE"].includes(request.method))
    return void expect(body.toString("utf8", 0, 10), shown).toBe('{"ok":true');
  // Outside of the API, people who ask for a page that is not there get one.
  const wantsPage = request.headers.some(([name, value]) => name === "Accept" && value.includes("text/html"));
  if (status === 404 && wantsPage && !binding.template.startsWith("/api/")) return undefined;
  checkErrorShape(status, headers, body.toString("utf8"), shown);
}

function checkErrorShape(status: number, headers: Map<string, string>, text: string, shown: string): void {
  expect(headers.get("content-type"), shown).toBe(jsonType);
  const { ok, error, message, field, retry_after_seconds: wait, ...rest } = JSON.parse(text);
  expect(rest, shown).toEqual({});
  expect(ok, shown).toBe(false);
  expect(status, shown).toBeLessThan(500);
  expect(Object.keys(errorStatus), shown).toContain(error);
  if (transportStatuses.includes(status)) expect(error, shown).toBe("bad_input");
  else expect(errorStatus[error as keyof typeof errorStatus], shown).toBe(status);
  if (message !== undefined) expect(typeof message, shown).toBe("string");
  if (field !== undefined) expect(typeof field, shown).toBe("string");
  if (wait !== undefined) expect(Number.isInteger(wait) && wait > 0, shown).toBe(true);
  expect(headers.get("retry-after"), shown).toBe(wait === undefined ? undefined : String(wait));
  expect(headers.get("www-authenticate"), shown).toBe(status === 401 ? "Bearer" : undefined);
}
