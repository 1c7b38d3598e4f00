// Loaded before every test file (vitest.config.ts). It compares every reply of the REST API in this process with the description
// of the API. A reply that the description does not allow fails the running test.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { afterAll, afterEach } from "vitest";

/** The comparison. It takes a while to load, so a file that starts no service does not load it. */
let replies: typeof import("./replies.ts") | undefined;
let loading: Promise<unknown> | undefined;
type FaultOf = typeof import("./replies.ts").faultOf;

const channel = "fastify.initialization";
const faults: string[] = [];
let checked = 0;

function observe(message: unknown): void {
  const { fastify } = message as { fastify: FastifyInstance };
  loading ??= import("./replies.ts").then((loaded) => {
    replies = loaded;
  });
  fastify.addHook("onRequest", (request, reply, done) => {
    const look = ({ faultOf, isDescribed }: NonNullable<typeof replies>) => {
      if (isDescribed(request.originalUrl)) record(request, reply, faultOf);
      done();
    };
    if (replies !== undefined) look(replies);
    else loading?.then(() => look(replies as NonNullable<typeof replies>), done);
  });
}

/** Records every reply when it ends, whatever wrote it. */
function record(request: FastifyRequest, reply: FastifyReply, faultOf: FaultOf): void {
  const { raw } = reply;
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
      if (!ended && request.method !== "HEAD") keep(args[0], args[1]);
      ended ||= name === "end";
      return send(...args);
    };
  }
  raw.once("close", () => {
    if (!raw.headersSent) return;
    const { method, originalUrl: target } = request;
    const { statusCode: status, writableFinished: isWhole } = raw;
    // Fastify passes its headers directly to writeHead, and Node does not list those.
    const headers = { ...raw.getHeaders(), ...reply.getHeaders() };
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
