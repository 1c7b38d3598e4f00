import { randomUUID } from "node:crypto";
import type { HttpRequest } from "./http-messages.ts";

const sane = /^[A-Za-z0-9._:/+=-]{1,128}$/;

/** The client's X-Request-Id if it is fit for a log and a header, else a new one. */
export function requestIdOf(request: Pick<HttpRequest, "headers">): string {
  const given = request.headers["x-request-id"];
  return typeof given === "string" && sane.test(given) ? given : randomUUID();
}
