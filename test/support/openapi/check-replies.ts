// Loaded before every test file (vitest.config.ts). It compares every reply of the REST API in this process with the description
// of the API. A reply that the description does not allow fails the running test.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { afterAll, afterEach } from "vitest";
import type { HttpRequest, HttpResponse } from "../../../src/http/requests/http-messages.ts";

/** The comparison takes a while to load, so a file that starts no service does not load it. */
let loading: Promise<void> | undefined;
let observeRequest: (request: HttpRequest, response: HttpResponse) => void = () => {};
type FaultOf = typeof import("./replies.ts").faultOf;

const channel = "fastify.initialization";
const faults: string[] = [];
let checked = 0;

function observe(message: unknown): void {
  const { fastify } = message as { fastify: FastifyInstance };
  loading ??= load();
  // No server listens before its replies are compared.
  fastify.addHook("onReady", async () => loading);
  // This hook comes before those of the service.
  fastify.addHook("onRequest", async (request, reply) => observeRequest(request.raw, reply.raw));
}

async function load(): Promise<void> {
  const { faultOf, isDescribed } = await import("./replies.ts");
  observeRequest = (request, response) => {
    if (isDescribed(request.url ?? "")) record(request, response, faultOf);
  };
}

/** Records every reply when it ends, whatever wrote it. */
function record({ method = "", url: target = "" }: HttpRequest, raw: HttpResponse, faultOf: FaultOf): void {
  // Node does not list the header fields that are passed directly to writeHead.
  let passed: OutgoingHttpHeaders = {};
  const writeHead = raw.writeHead.bind(raw) as (...args: unknown[]) => never;
  raw.writeHead = (...args: unknown[]) => {
    const fields = args.at(-1);
    if (typeof fields === "object" && fields !== null) passed = fields as OutgoingHttpHeaders;
    return writeHead(...args);
  };
  const chunks: Buffer[] = [];
  const keep = (chunk: unknown, encoding: unknown) => {
    if (typeof chunk === "string")
      chunks.push(Buffer.from(chunk, typeof encoding === "string" ? (encoding as never) : "utf8"));
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  let ended = false;
  for (const name of ["write", "end"] as const) {
    const send = raw[name].bind(raw) as (...args: unknown[]) => never;
    raw[name] = (...args: unknown[]) => {
      // Over HTTP/2, `end` calls `write` with its chunk.
      if (!ended && method !== "HEAD") keep(args[0], args[1]);
      ended ||= name === "end";
      return send(...args);
    };
  }
  (raw.stream ?? (raw as ServerResponse)).once("close", () => {
    if (!raw.headersSent) return;
    const { statusCode: status, writableFinished: isWhole } = raw;
    const headers = { ...(raw as ServerResponse).getHeaders(), ...passed };
    checked++;
    try {
      const fault = faultOf({ method, target, status, headers, body: Buffer.concat(chunks), isWhole });
      if (fault !== undefined) faults.push(fault);
    } catch (error) {
      faults.push(`${method} ${target}: ${error}`);
    }
  });
}

function report(): void {
  if (faults.length > 0)
    throw new Error(`The API description does not tell the truth:\n${faults.splice(0).join("\n")}`);
}

/** How many replies have been compared so far, for the test of this check. */
export function repliesChecked(): number {
  return checked;
}

subscribe(channel, observe);
afterEach(report);
afterAll(async () => {
  unsubscribe(channel, observe);
  // A file that makes no request may end before the comparison is loaded.
  await loading;
  report();
});
