// Requests as bytes over both versions of HTTP, and what comes back.
import { request as requestHttp1 } from "node:http";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { afterFile } from "../../support/after-file.ts";

/** In place of a last chunk: the body is not completed. */
export const unfinished = Buffer.alloc(0);

export interface Ask {
  rpc: string;
  /** Another path than that of the RPC. */
  path?: string | undefined;
  type?: string | undefined;
  method?: string;
  query?: string;
  headers?: Record<string, string>;
  /** Sent one after the other. */
  chunks?: Uint8Array[];
}

export interface Answer {
  status: number | undefined;
  headers: Record<string, unknown>;
  body: Buffer;
  trailers: Record<string, unknown>;
  /** What the server has noted of the request. */
  noted: unknown;
}

export type Send = (server: { url: string }, ask: Ask, id: string) => Promise<Omit<Answer, "noted">>;

export const sendHttp2: Send = (server, ask, id) =>
  new Promise((resolve, reject) => {
    const stream = sessionWith(server).request({
      ":method": ask.method ?? "POST",
      ":path": pathOf(ask),
      ...headersOf(ask, id),
    });
    const answer = { status: 0, headers: {}, trailers: {}, body: Buffer.alloc(0) };
    stream.on("response", ({ ":status": status, ...headers }) => {
      Object.assign(answer, { status, headers: comparable(headers) });
    });
    stream.on("trailers", (trailers) => Object.assign(answer, { trailers: comparable(trailers) }));
    stream.on("data", (chunk) => {
      answer.body = Buffer.concat([answer.body, chunk]);
    });
    stream.on("error", reject).on("end", () => {
      stream.destroy();
      resolve(answer);
    });
    void write(stream, ask);
  });

export const sendHttp1: Send = (server, ask, id) =>
  new Promise((resolve, reject) => {
    const options = { method: ask.method ?? "POST", headers: headersOf(ask, id), agent: false };
    const request = requestHttp1(server.url + pathOf(ask), options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", reject);
      response.on("end", () => {
        request.destroy();
        resolve({
          status: response.statusCode,
          headers: comparable(response.headers),
          body: Buffer.concat(chunks),
          trailers: comparable(response.trailers),
        });
      });
    });
    request.on("error", reject);
    request.flushHeaders();
    void write(request, ask);
  });

async function write(to: NodeJS.WritableStream, { chunks = [] }: Ask): Promise<void> {
  for (const chunk of chunks) {
    if (chunk === unfinished) return;
    await new Promise((resolve) => to.write(chunk, resolve));
    if (chunks.length > 1) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  to.end();
}

export function pathOf({ rpc, path = `/fixture.v1.EchoService/${rpc}`, query = "" }: Ask): string {
  return path + query;
}

export function headersOf({ type, headers }: Ask, id: string): Record<string, string> {
  return { ...(type === undefined ? {} : { "content-type": type }), ...headers, "x-request-id": id };
}

function comparable(headers: object): Record<string, unknown> {
  const { date: _date, ...others } = headers as Record<string, unknown>;
  return { ...others };
}

const sessions = new Map<string, ClientHttp2Session>();

/** The HTTP/2 session with a server; another one if the server has ended the one before. */
export function sessionWith({ url }: { url: string }): ClientHttp2Session {
  let session = sessions.get(url);
  if (session === undefined || session.destroyed || session.closed) {
    const opened = connectHttp2(url).on("error", () => {});
    afterFile(() => opened.destroy());
    sessions.set(url, opened);
    session = opened;
  }
  return session;
}
