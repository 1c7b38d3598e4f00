// Each reply of the service to some thousand requests, good and bad, as it was recorded: status, header fields, body, trailers,
// and what the request's one line in the log says of the operation, the outcome and the agent.
// A change of the edge must not change them. `STOA_RECORD=1 npm test -- test/http/recorded` records them anew; the commit
// then says why each difference is right.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { expect } from "vitest";
import { type Service, type ServiceOptions, startService } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";
import type { Case } from "./cases.ts";
import type { exchangeHttp1, Reply } from "./exchange.ts";
import { mcpCases } from "./mcp-cases.ts";
import { restCases } from "./rest-cases.ts";
import { rpcCases } from "./rpc-cases.ts";

/** A reply as it is recorded. Header fields that many replies share are in `Recording.fields`. */
type Recorded = readonly [status: number, fields: number, body: string, noted: string, trailers?: string] | "no reply";
type Log = readonly Record<string, unknown>[];

interface Recording {
  fields: string[];
  replies: Record<string, Recorded>;
}

/** Bodies beyond this length are recorded by their hash, in characters. */
const longestBody = 160;

/** A service with a few posts, whose clock stands still. */
export async function startWorld(
  options: ServiceOptions = {},
): Promise<{ service: Service; keys: Map<string, string> }> {
  const now = () => Date.parse("2026-03-01T12:00:00.000Z");
  const service = await startService({
    config: {
      siteUrl: "https://stoa.example",
      operatorToken: "an-operator-of-32-characters-or-more",
      ...options.config,
    },
    overrides: { now },
  });
  // The migration that has made it, and not the service, read the clock.
  await service.db.rows("UPDATE communities SET created_at = ?", [now()]);
  const keys = new Map<string, string>();
  for (const name of ["Zeno", "Kleanthes"]) keys.set(name, (await service.register(name)).key);
  const [zeno, kleanthes] = [...keys.values()] as [string, string];
  await service.rest("posts", { key: zeno, body: { title: "A first post", body: "It mentions @Kleanthes." } });
  await service.rest("posts/1/comments", { key: kleanthes, body: { body: "A first comment" } });
  await service.rest("posts/1/upvote", { key: kleanthes, method: "POST" });
  return { service, keys };
}

/** What differs from run to run is replaced by something as long. */
function settled(text: string): string {
  return text
    .replace(/stoa_[\w-]{43}/g, `stoa_${"K".repeat(43)}`)
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "I".repeat(36))
    .replace(/("duration_ms":)\d+/g, "$10");
}

/** The body of a reply without its encoding. */
export function decoded({ body, headers }: Pick<Reply, "body" | "headers">): Buffer {
  const encoding = headers.find(([name]) => name.toLowerCase() === "content-encoding")?.[1];
  if (encoding === "gzip" && body.length > 0) return gunzipSync(body);
  return encoding === "br" && body.length > 0 ? brotliDecompressSync(body) : body;
}

function bodyText(reply: Reply): string {
  const text = settled(decoded(reply).toString("latin1"));
  if (text.length > longestBody)
    return `sha256 ${createHash("sha256").update(text, "latin1").digest("hex").slice(0, 24)}`;
  return text;
}

/** @param hasDuration whether the body says how long something took */
function fieldsText(fields: readonly [string, string][], hasDuration = false): string {
  // Other versions of Node compress to other lengths.
  const isCompressed = fields.some(([name]) => name.toLowerCase() === "content-encoding");
  const shownAs: Record<string, string> = {
    date: "now",
    ...(isCompressed ? { "content-length": "compressed" } : {}),
    ...(hasDuration ? { "content-length": "varies", etag: "varies" } : {}),
  };
  return fields.map(([name, value]) => `${name}: ${shownAs[name.toLowerCase()] ?? settled(value)}`).join("\n");
}

export class Recorder {
  readonly recording: Recording = { fields: [], replies: {} };
  readonly #replies = new Map<string, Reply | undefined>();

  add(name: string, reply: Reply | undefined): void {
    let unique = name;
    for (let count = 2; this.#replies.has(unique); count++) unique = `${name} (${count})`;
    this.#replies.set(unique, reply);
  }

  /** Records what was added, when each request has its line in the log. */
  async finish(log: Log): Promise<void> {
    const lines = () => log.filter(({ msg }) => String(msg).startsWith("request"));
    await waitUntil("the lines of the requests", () => {
      const ids = new Set(lines().map(({ reqId }) => reqId));
      return [...this.#replies.values()].every((reply) => reply === undefined || ids.has(idOf(reply)));
    });
    const byId = Map.groupBy(lines(), ({ reqId }) => reqId);
    for (const [name, reply] of this.#replies) this.recording.replies[name] = this.#recorded(name, reply, byId);
  }

  #recorded(name: string, reply: Reply | undefined, lines: ReadonlyMap<unknown, Log>): Recorded {
    if (reply === undefined) return "no reply";
    const text = fieldsText(reply.headers, name.includes("/house/verify"));
    let index = this.recording.fields.indexOf(text);
    if (index === -1) index = this.recording.fields.push(text) - 1;
    const ofReply = lines.get(idOf(reply)) ?? [];
    const noted = ofReply.map(({ operation = "-", code = "-", agent = "-", msg }) => {
      return `${operation} ${code} ${agent}${msg === "request" ? "" : ` ${msg}`}`;
    });
    const trailers = fieldsText(reply.trailers);
    const recorded = [reply.status, index, bodyText(reply), noted.join(", ")] as const;
    return trailers === "" ? recorded : [...recorded, trailers];
  }
}

function idOf({ headers }: Reply): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === "x-request-id")?.[1];
}

/** Shows a recorded reply whole, so that recordings with other lists of fields can be compared. */
function shown({ fields }: Recording, reply: Recorded | undefined): string {
  if (reply === undefined || reply === "no reply") return String(reply);
  const [status, index, body, noted, trailers] = reply;
  return [status, fields[index], "", body, noted, ...(trailers === undefined ? [] : ["", trailers])].join("\n");
}

/** Compares what was recorded with the file of this name, or writes that file. */
export function compare(file: string, { recording }: Recorder): void {
  const path = new URL(`./${file}.json`, import.meta.url);
  if (process.env.STOA_RECORD === "1") {
    const lines = (items: string[]) => items.join(",\n");
    const replies = Object.entries(recording.replies).map((entry) =>
      entry.map((part) => JSON.stringify(part)).join(": "),
    );
    const fields = recording.fields.map((each) => JSON.stringify(each));
    writeFileSync(path, `{"fields": [\n${lines(fields)}\n], "replies": {\n${lines(replies)}\n}}\n`);
    return;
  }
  const expected = JSON.parse(readFileSync(path, "utf8")) as Recording;
  expect(Object.keys(recording.replies)).toEqual(Object.keys(expected.replies));
  const show = (of: Recording) =>
    Object.fromEntries(Object.entries(of.replies).map(([name, reply]) => [name, shown(of, reply)]));
  expect(show(recording)).toEqual(show(expected));
}

type Send = (each: Case) => Promise<Reply | undefined>;

/** Sends requests one by one, and records the replies. */
export async function record(
  cases: readonly Case[],
  keys: ReadonlyMap<string, string>,
  send: (request: Parameters<typeof exchangeHttp1>[1]) => ReturnType<Send>,
  log: Log,
) {
  const recorder = new Recorder();
  for (const { name, as, headers = [], ...request } of cases) {
    const key: [string, string][] =
      as === undefined || !keys.has(as) ? [] : [["Authorization", `Bearer ${keys.get(as)}`]];
    recorder.add(name, await send({ ...request, headers: [...key, ...headers] }));
  }
  await recorder.finish(log);
  return recorder;
}

/** Sends a request with the length of its body. */
export const withLength: (send: (request: Parameters<typeof exchangeHttp1>[1]) => ReturnType<Send>) => typeof send =
  (send) => (request) =>
    send({
      ...request,
      headers:
        request.body === undefined
          ? request.headers
          : [...request.headers, ["Content-Length", String(request.body.length)]],
    });

/** The requests over both versions of HTTP, by the part of the service that answers them. */
export const sets: Record<string, () => Promise<Case[]> | Case[]> = { rpc: rpcCases, mcp: mcpCases, rest: restCases };
