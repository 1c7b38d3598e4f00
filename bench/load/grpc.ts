import http2 from "node:http2";
import type { Request } from "../protocols.ts";
import { type Load, Recorder, type Round } from "./recorder.ts";

/** Clients usually keep one connection with many streams. Here a few connections share the streams. */
const sessions = 4;
const windowBytes = 1 << 20;

/** gRPC over plain HTTP/2 with prepared frames. A full client in this process would cost more than the calls it measures. */
export async function loadGrpc({ url, seconds, requests, signal }: Load): Promise<Round> {
  const recorder = new Recorder();
  const clients = await Promise.all(Array.from({ length: sessions }, () => connect(url)));
  const started = performance.now();
  let ended = 0;
  const stop = () => {
    ended ||= performance.now();
  };
  // On a busy machine the first call may take longer than a short round, which then ends with it.
  const first = Promise.withResolvers<void>();
  const timer = setTimeout(() => void first.promise.then(stop), seconds * 1000);
  signal.addEventListener("abort", stop, { once: true });
  const stream = async (list: Request[], client: http2.ClientHttp2Session) => {
    for (let i = 0; ended === 0; i = (i + 1) % list.length) {
      const began = performance.now();
      const failure = await call(client, list[i] as Request);
      if (ended !== 0) return;
      if (failure === undefined) recorder.succeeded(performance.now() - began);
      else recorder.failed(failure);
      first.resolve();
    }
  };
  try {
    await Promise.all(requests.map((list, i) => stream(list, clients[i % sessions] as http2.ClientHttp2Session)));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
    for (const client of clients) client.close();
  }
  signal.throwIfAborted();
  return recorder.result((ended - started) / 1000);
}

async function connect(url: string): Promise<http2.ClientHttp2Session> {
  const client = http2.connect(url, { settings: { initialWindowSize: windowBytes } });
  await new Promise<void>((resolve, reject) => client.once("connect", () => resolve()).once("error", reject));
  client.on("error", () => {}); // the calls report it
  client.setLocalWindowSize(windowBytes);
  return client;
}

/** Resolves with a description of the failure, or undefined. */
function call(client: http2.ClientHttp2Session, { path, headers, body }: Request): Promise<string | undefined> {
  return new Promise((resolve) => {
    const stream = client.request({ ":method": "POST", ":path": path, ...headers });
    let status: unknown;
    let message: unknown;
    const look = (received: http2.IncomingHttpHeaders) => {
      status ??= received["grpc-status"];
      message ??= received["grpc-message"];
    };
    stream.on("response", look);
    stream.on("trailers", look);
    stream.on("error", (error) => resolve(error.message));
    stream.on("close", () => resolve(status === "0" ? undefined : `grpc-status ${status}: ${message}`));
    stream.resume();
    stream.end(body);
  });
}
