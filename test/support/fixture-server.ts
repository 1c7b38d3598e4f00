import { connect, type Socket } from "node:net";
import type { HandlerContext } from "@connectrpc/connect";
import { callOf } from "../../src/calls/call.ts";
import type { ServiceTable } from "../../src/calls/service-table.ts";
import { StoaError } from "../../src/errors.ts";
import { afterFile } from "./after-file.ts";
import { createBareServer } from "./bare-server.ts";
import { EchoService } from "./fixture.ts";

type Thing = Record<string, unknown> & { name: string };

export interface FixtureServer {
  port: number;
  url: string;
  /** The log lines so far, parsed. */
  log: Record<string, unknown>[];
  /** The calls of `authenticate`, in order. */
  credentials: (string | null)[];
  /** Begins the stop of the server. It still accepts connections. */
  beginStop(): void;
}

/** Starts our transport with the fixture's service on a free port. It stops after the last test of the file. */
export async function startFixtureServer(): Promise<FixtureServer> {
  const log: Record<string, unknown>[] = [];
  const credentials: (string | null)[] = [];

  const echo = (rpc: string) => (thing: Thing) => ({ ...thing, rpc });
  const implementation = {
    get: (thing: Thing, context: HandlerContext) => {
      const probe = context.requestHeader.get("x-probe") ?? "none";
      context.responseHeader.set("x-probe", probe);
      if (probe === "trailer") context.responseTrailer.set("x-late", "too");
      return { ...thing, rpc: "Get", note: context.requestHeader.get("content-type") ?? undefined };
    },
    list: echo("List"),
    create: echo("Create"),
    archive: echo("Archive"),
    publish: echo("Publish"),
    getFile: echo("GetFile"),
    typed: echo("Typed"),
    putBook: echo("PutBook"),
    getWrapped: ({ name }: Thing) => ({ thing: name === "nothing" ? undefined : { name, rpc: "GetWrapped" } }),
    getRaw: ({ name }: Thing) => ({
      body: name === "plain" ? { data: Buffer.from("plain") } : { contentType: "image/x-fixture", data: rawBytes },
    }),
    refuse: (strict: object) => strict,
    rule: (ruled: object) => ruled,
    write: (thing: Thing, { values }: HandlerContext) => ({ ...thing, rpc: "Write", note: callOf(values).caller }),
    fail({ name }: Thing) {
      if (name === "unavailable") throw new StoaError("unavailable", "Later.", { retryAfterSeconds: 7 });
      if (name === "missing") throw new StoaError("not_found", "It is not here.", { field: "name" });
      if (name === "unwritable") return { number: 2n ** 53n };
      if (name === "nothing") throw undefined;
      throw new TypeError("the secret is hunter2");
    },
    async wait(thing: Thing, context: HandlerContext) {
      const { signal } = context;
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      if (thing.name === "fails") throw signal.reason;
      return thing;
    },
    onlyRpc: echo("OnlyRpc"),
  };
  const authenticate: ServiceTable["authenticate"] = async (_rpc, _holder, { authorization }) => {
    credentials.push(authorization);
    if (authorization === "Bearer broken") throw new TypeError("the secret is hunter2");
    if (authorization !== "Bearer good") throw new StoaError("unauthorized", "This needs a good key.");
    return "the caller" as never;
  };
  const shutdown = new AbortController();
  const { server, port } = await createBareServer({
    services: [{ service: EchoService, implementation }],
    shutdown: shutdown.signal,
    authenticate,
    write: (line) => void log.push(JSON.parse(line)),
  });
  server.serve();
  const number = await port.listen({ host: "127.0.0.1", port: 0 });
  const beginStop = () =>
    shutdown.abort(new StoaError("unavailable", "The service is stopping.", { retryAfterSeconds: 1 }));
  afterFile(() => {
    beginStop();
    return server.close();
  });
  return {
    port: number,
    url: `http://127.0.0.1:${number}`,
    log,
    credentials,
    beginStop,
  };
}

/** Bytes that are not text in any encoding. */
export const rawBytes = Buffer.from([0, 255, 254, 10, 13, 0x7b, 0xc3, 0x28]);

export interface RawReply {
  status: number;
  /** By lower-case names. */
  headers: Record<string, string>;
  body: string;
}

/** Sends exactly these bytes, which fetch would not send, and reads until the server closes the connection. */
export function sendRaw(port: number, ...chunks: (string | Buffer)[]): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const received: Buffer[] = [];
    const socket: Socket = connect(port, "127.0.0.1", () => {
      for (const chunk of chunks) socket.write(chunk);
    });
    socket.on("data", (data) => received.push(data));
    socket.on("error", reject);
    socket.on("close", () => {
      const text = Buffer.concat(received).toString("latin1");
      const [head = "", body = ""] = text.split(/\r\n\r\n([\s\S]*)/);
      const [statusLine = "", ...lines] = head.split("\r\n");
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(statusLine)?.[1]);
      if (Number.isNaN(status)) reject(new Error(`this is no reply: ${text.slice(0, 200)}`));
      const pairs = lines.map((line) => [line.split(":")[0]?.toLowerCase() ?? "", line.replace(/^[^:]*: ?/, "")]);
      resolve({ status, headers: Object.fromEntries(pairs), body });
    });
  });
}
