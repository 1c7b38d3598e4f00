import { type Agent, request } from "node:http";

export interface RawReply {
  status: number | undefined;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/** Makes an HTTP/1.1 request without a body, and shows what fetch hides, such as compression and Connection. */
export function rawRequest(
  url: string,
  options: { method?: string; headers?: Record<string, string>; agent?: Agent; localAddress?: string } = {},
): Promise<RawReply> {
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
      .end();
  });
}
