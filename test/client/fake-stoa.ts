// A service that lies as a test requires. It shows what verifiers do not trust.
import type { ServerResponse } from "node:http";

import { parseJson } from "../../src/receipt/parse.ts";
import { buildChain, type Receipt } from "../receipt/chain.ts";
import { serveHttp } from "../support/http-server.ts";

/** A receipt as the REST API shows it, or with the changes of a test. */
// biome-ignore lint/suspicious/noExplicitAny: defects give members of any type, or none.
export type Shown = any;

export interface FakeStoa {
  url: string;
  /** The receipts that it serves. Tests change them while it runs. */
  receipts: Shown[];
  /** The head that it announces; by default the number of receipts. */
  headSeq: number | undefined;
  /** The requested addresses, in order. */
  asked: string[];
  /** Returns true if it has answered in place of the fake. */
  intercept: ((path: string, response: ServerResponse) => boolean) | undefined;
  /** The open streams of followers. */
  followers: Set<ServerResponse>;
  /** Ends every connection. */
  cut(): void;
}

export async function collect<T>(all: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of all) items.push(item);
  return items;
}

/**
 * A receipt as JSON. `rawDocument`, if given, is the text of its document, which may be too deep to be built.
 */
export function textOf(receipt: Shown): string {
  if (receipt?.rawDocument === undefined) return JSON.stringify(receipt);
  const { rawDocument, document: _, ...rest } = receipt;
  return `{"document":${rawDocument},${JSON.stringify(rest).slice(1)}`;
}

export function show({ seq, prevHash, hash, bytes }: Receipt): Shown {
  const canonical = Buffer.from(bytes).toString("utf8");
  return { seq, ref: `r:${seq}`, kind: "seal", hash, prev_hash: prevHash, document: parseJson(canonical), canonical };
}

export function shownChain(length: number): Shown[] {
  return buildChain(length).map(show);
}

/** Serves the receipts on a free port, as Stoa does. It stops after the last test of the file. */
export async function startFake(receipts: Shown[]): Promise<FakeStoa> {
  const { url, cut } = await serveHttp((request, response) => {
    const path = request.url ?? "";
    fake.asked.push(path);
    if (fake.intercept?.(path, response) === true) return;
    const { pathname, searchParams } = new URL(path, fake.url);
    const from = Number(searchParams.get("from") ?? 1);
    const there = fake.receipts.filter((_, index) => index >= from - 1);
    const head = fake.headSeq ?? fake.receipts.length;
    const seq = /^\/api\/v1\/house\/receipts\/(\d+)\/canonical$/.exec(pathname)?.[1];
    if (pathname === "/api/v1/house/receipts") {
      if (from > head) return refuse(response, 404, { error: "not_found", message: "None.", field: "from" });
      const shown = there.slice(0, 1).map(textOf);
      response.end(`{"ok":true,"receipts":[${shown}],"next_from":null,"head_seq":${head}}`);
    } else if (pathname === "/api/v1/house/receipts/stream") {
      if (from > head + 1) return refuse(response, 404, { error: "not_found", message: "None.", field: "from" });
      response.setHeader("content-type", "application/x-ndjson");
      response.flushHeaders();
      for (const receipt of there) response.write(`${textOf(receipt)}\n`);
      if (searchParams.get("follow") !== "true") response.end();
      else {
        fake.followers.add(response);
        response.once("close", () => fake.followers.delete(response));
      }
    } else if (seq !== undefined) {
      const receipt = fake.receipts[Number(seq) - 1];
      if (receipt === undefined) return refuse(response, 404, { error: "not_found", message: "None." });
      response.end(receipt.canonical);
    } else refuse(response, 404, { error: "not_found", message: "There is nothing at this address." });
    return undefined;
  });
  const fake: FakeStoa = {
    url,
    receipts,
    headSeq: undefined,
    asked: [],
    intercept: undefined,
    followers: new Set(),
    cut,
  };
  return fake;
}

/** Answers with the Error shape. */
export function refuse(response: ServerResponse, status: number, shape: object): undefined {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ ok: false, ...shape }));
}

/** Sends exactly this body of a stream. */
export function answerStream(fake: FakeStoa, ...chunks: (string | Buffer)[]): void {
  fake.intercept = (path, response) => {
    if (!path.includes("/stream")) return false;
    for (const chunk of chunks) response.write(chunk);
    response.end();
    return true;
  };
}
