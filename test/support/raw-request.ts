import http from "node:http";
import https, { type RequestOptions } from "node:https";

export interface RawReply {
  status: number | undefined;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Makes an HTTP/1.1 request, and shows what fetch hides, such as compression and Connection. */
export function rawRequest(
  url: string,
  { body, ...options }: RequestOptions & { body?: string | Buffer } = {},
): Promise<RawReply> {
  const { request } = url.startsWith("https:") ? https : http;
  return new Promise((resolve, reject) => {
    request(url, options, (response) => {
      const chunks: Buffer[] = [];
      response.on("error", reject);
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) }),
      );
    })
      .on("error", reject)
      .end(body);
  });
}
