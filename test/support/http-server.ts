import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterFile } from "./after-file.ts";

export interface HttpServer {
  /** Without a slash at the end. */
  readonly url: string;
  /** Ends every connection. */
  cut(): void;
  close(): Promise<void>;
}

/** Serves HTTP on a free port until it is closed. */
export async function listenHttp(listener: RequestListener): Promise<HttpServer> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => server.closeAllConnections();
  const close = () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    cut();
    return closed;
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut, close };
}

/** The same until the last test of the file has ended. */
export async function serveHttp(listener: RequestListener): Promise<HttpServer> {
  const server = await listenHttp(listener);
  afterFile(() => server.close());
  return server;
}

/** Answers with the files of a folder, as a plain web server does. */
export function webServerOf(folder: string): RequestListener {
  return ({ url = "" }, response) => {
    const path = join(folder, url);
    if (existsSync(path) && statSync(path).isFile()) response.end(readFileSync(path));
    else response.writeHead(404).end("no such file");
  };
}
