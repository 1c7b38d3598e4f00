// Shared by the tests of the port: an application behind it, and raw connections.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { STATUS_CODES } from "node:http";
import http2 from "node:http2";
import net from "node:net";
import tls from "node:tls";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { generate } from "selfsigned";
import type { Handler, PortHandlers } from "../../src/http/port/connection.ts";
import { Port, type PortOptions } from "../../src/http/port/port.ts";
import type { Refuse } from "../../src/http/port/refusals.ts";
import { afterTest } from "./after-test.ts";
import { PREFACE, settings } from "./http2-frames.ts";

export { PREFACE };
export const EMPTY_SETTINGS = settings();
/** The server's answer to `EMPTY_SETTINGS`. */
export const SETTINGS_ACK = "\0\0\0\x04\x01\0\0\0\0";
/** The head of a GOAWAY frame, with which the server ends a session. */
export const GOAWAY = "\0\0\x08\x07\0\0\0\0\0";
/** A time limit that no test reaches: more than a test may take. */
export const NEVER = 180_000;
/** A time limit that tests wait for. */
export const SOON = 150;
/** More than the sockets between two processes buffer. */
export const LARGE = 20_000_000;

const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }]);
export const certificate: { cert: string; key: string } = { cert, key };

export const noTimeLimits = {
  headersTimeoutMs: NEVER,
  requestTimeoutMs: NEVER,
  idleTimeoutMs: NEVER,
  drainTimeoutMs: NEVER,
};

/** Calls `listener` for each connection that a port accepts, until the test has ended. */
export function onConnection(number: number, listener: (socket: net.Socket) => void): void {
  const onSocket = (message: unknown) => {
    const { socket } = message as { socket: net.Socket };
    if (socket.localPort === number) listener(socket);
  };
  subscribe("net.server.socket", onSocket);
  afterTest(() => void unsubscribe("net.server.socket", onSocket));
}

export interface Running {
  app: FastifyInstance;
  port: Port;
  number: number;
  /** Resolves when `GET /held` or `GET /streamed` has been entered for the next time. */
  entered: () => Promise<void>;
  /** Lets every held request finish. */
  release: () => void;
}

const plainReply: Refuse = (status) => ({ status, body: JSON.stringify({ message: STATUS_CODES[status] }) });

/** @param addRoutes adds further routes to the application */
export async function start(
  { refuse = plainReply, ...options }: Partial<PortOptions & Pick<PortHandlers, "refuse">> = {},
  addRoutes?: (app: FastifyInstance) => void,
): Promise<Running> {
  const app = Fastify({ return503OnClosing: false });
  const handle: Handler = (request, response) => app.routing(request, response);
  const port = new Port({ ...noTimeLimits, ...options }, { handle, refuse });
  const held = Promise.withResolvers<void>();
  const waiting: (() => void)[] = [];
  const enter = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  app.get("/version", async (request) => ({ version: request.raw.httpVersion }));
  app.post("/length", async (request) => ({ length: JSON.stringify(request.body).length }));
  app.get("/large", async () => "x".repeat(LARGE));
  app.get("/held", async () => {
    enter();
    await held.promise;
    return { held: true };
  });
  const stream = async (_request: FastifyRequest, reply: FastifyReply) => {
    reply.hijack();
    reply.raw.writeHead(200, { "content-type": "text/plain" });
    reply.raw.write("first,");
    enter();
    await held.promise;
    reply.raw.end("last.");
  };
  app.get("/streamed", stream);
  app.post("/unread", { onRequest: stream }, async () => {}); // replies without a look at the body
  addRoutes?.(app);
  app.addHook("preClose", () => port.drained());
  await app.ready();
  const number = await port.listen({ host: "127.0.0.1", port: 0 });
  afterTest(async () => {
    held.resolve();
    await app.close();
  });
  return {
    app,
    port,
    number,
    entered: () => new Promise((resolve) => waiting.push(resolve)),
    release: () => held.resolve(),
  };
}

/** A raw connection that collects what it receives. */
export function connect(number: number, socket: net.Socket = net.connect(number, "127.0.0.1")) {
  let received = "";
  socket.setEncoding("latin1");
  socket.on("data", (text: string) => {
    received += text;
  });
  socket.on("error", () => {});
  afterTest(() => socket.destroy());
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(received)));
  /** Resolves when `text` has been received `times` times. */
  const seen = async (text: string, times = 1) => {
    while (received.split(text).length <= times) await once(socket, "data");
    return received;
  };
  return { socket, closed, seen };
}

/** As `connect`, with a way to send bytes that the server reads apart from all others. */
export async function connectSplitting(number: number) {
  const accepted = new Promise<net.Socket>((resolve) => onConnection(number, resolve));
  const client = connect(number);
  const server = await accepted;
  let sent = 0;
  /** Resolves when the server has read these bytes, and everything that they cause at once is done. */
  const sendAlone = async (text: string) => {
    sent += text.length;
    client.socket.write(text);
    while (server.bytesRead < sent && !server.destroyed) await new Promise(setImmediate);
    await new Promise(setImmediate);
  };
  return { ...client, sendAlone };
}

export async function connectTls(number: number, alpn: string) {
  const socket = tls.connect({ port: number, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: [alpn] });
  await once(socket, "secureConnect");
  return connect(number, socket);
}

export function connectHttp2(number: number, scheme = "http", options: http2.ClientSessionOptions = {}) {
  const session = http2.connect(`${scheme}://127.0.0.1:${number}`, { rejectUnauthorized: false, ...options });
  session.on("error", () => {});
  afterTest(() => session.destroy());
  return session;
}

export async function readStream(stream: http2.ClientHttp2Stream): Promise<string> {
  let text = "";
  for await (const chunk of stream.setEncoding("utf8")) text += chunk;
  return text;
}

export function get(session: http2.ClientHttp2Session, path: string): http2.ClientHttp2Stream {
  const stream = session.request({ ":path": path });
  stream.on("error", () => {});
  return stream;
}

export const request = (path: string, ...headers: string[]) =>
  [`GET ${path} HTTP/1.1`, "Host: stoa", ...headers, "", ""].join("\r\n");
