// Counts what one request of each kind enters in src/: files, functions, and the lines of these files. It starts the service on a
// private database of its own, sends each request, and asks V8 which functions ran, less those that run without a request.
// `node scripts/way.ts --list` names them all.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http2 from "node:http2";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** How often each request is sent and counted. What runs in all rounds belongs to it. */
const rounds = 5;
/** How long background work and a request may take, in milliseconds. */
const settleMs = 400;

const source = new URL("../src/", import.meta.url).href;
const profiler = new Session();
profiler.connect();
await profiler.post("Profiler.enable");
// V8 counts only functions that are compiled from now on, so nothing of src/ is imported above.
await profiler.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const { startApp } = await import("../src/app/app.ts");
const { readConfig } = await import("../src/config/config.ts");

/** The functions of src/ that have run since the last look: file, name and place. */
async function takeCalls(): Promise<Set<string>> {
  const { result } = await profiler.post("Profiler.takePreciseCoverage");
  const called = new Set<string>();
  for (const { url, functions } of result) {
    if (!url.startsWith(source)) continue;
    for (const { functionName, ranges } of functions) {
      const [range] = ranges;
      // The function of the whole module has no name and begins at 0.
      if (range === undefined || range.count === 0 || (functionName === "" && range.startOffset === 0)) continue;
      called.add(`${url.slice(source.length)} ${functionName || "anonymous"} ${range.startOffset}`);
    }
  }
  return called;
}

function countEach(counts: Map<string, number>, names: Iterable<string>): void {
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** The functions that a request enters. @throws what `send` throws */
async function functionsOf(send: () => Promise<void>): Promise<string[]> {
  for (let warm = 0; warm < 5; warm++) await send();
  const entered = new Map<string, number>();
  const alone = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    await wait(settleMs);
    await takeCalls();
    await wait(settleMs);
    countEach(alone, await takeCalls());
    await send();
    await wait(settleMs);
    countEach(entered, await takeCalls());
  }
  // Background work runs in some rounds, with or without the request.
  return [...entered.keys()].filter((name) => entered.get(name) === rounds && (alone.get(name) ?? 0) < rounds - 1);
}

const folder = mkdtempSync(join(tmpdir(), "stoa-way-"));
const environment = {
  STOA_PORT: "0",
  STOA_METRICS_PORT: "none",
  // What the sequencer of the log does after the reply is not of the request.
  STOA_LOG: "off",
  STOA_DATA_DIR: join(folder, "data"),
  STOA_LOG_LEVEL: "error",
  STOA_RATE_LIMITS: "off",
};
const app = await startApp(readConfig({ ...environment, PATH: process.env.PATH }));
/** Opened with the first RPC: the service ends a session that makes no request for some seconds. */
let session: http2.ClientHttp2Session | undefined;
try {
  await measureAll();
} finally {
  session?.destroy();
  await app.close();
  rmSync(folder, { recursive: true, force: true });
  profiler.disconnect();
}

async function ask(path: string, init: RequestInit, status: number): Promise<string> {
  const reply = await fetch(app.url + path, init);
  const text = await reply.text();
  if (reply.status !== status) throw new Error(`${path}: ${reply.status} ${text}`);
  return text;
}

function post(path: string, body: object, authorization?: string): Promise<string> {
  const headers = { "content-type": "application/json", ...(authorization === undefined ? {} : { authorization }) };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) }, 201);
}

/** Calls an RPC with an empty message over gRPC. */
async function callRpc(path: string): Promise<void> {
  session ??= http2.connect(app.url);
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  stream.on("trailers", (trailers) => resolve(String(trailers["grpc-status"])));
  stream.on("error", reject).resume().end(Buffer.alloc(5));
  const status = await promise;
  if (status !== "0") throw new Error(`${path}: grpc-status ${status}`);
}

async function measureAll(): Promise<void> {
  const { api_key: key } = JSON.parse(await post("/api/v1/agents/register", { name: "walker" }));
  const write = () => post("/api/v1/posts", { title: "A title", body: "Some words." }, `Bearer ${key}`);
  await write();
  const requests: Record<string, () => Promise<unknown>> = {
    "POST /api/v1/posts": write,
    "GET /api/v1/posts/1": () => ask("/api/v1/posts/1", {}, 200),
    "GET /api/v1/feed": () => ask("/api/v1/feed?sort=hot&limit=10", {}, 200),
    "GET / (page)": () => ask("/", {}, 200),
    "gRPC ListPosts": () => callRpc("/stoa.v1.PostService/ListPosts"),
  };
  process.stdout.write("| request | files | functions | lines of these files |\n|---|---|---|---|\n");
  for (const [name, send] of Object.entries(requests)) report(name, await functionsOf(async () => void (await send())));
}

function report(name: string, functions: readonly string[]): void {
  const byFile = Map.groupBy(functions, (each) => each.split(" ", 1)[0] as string);
  const lengths = [...byFile.keys()].map(
    (file) => readFileSync(fileURLToPath(source + file), "utf8").split("\n").length,
  );
  const lines = lengths.reduce((sum, length) => sum + length, 0);
  process.stdout.write(`| ${name} | ${byFile.size} | ${functions.length} | ${lines} |\n`);
  if (!process.argv.includes("--list")) return;
  for (const [file, names] of [...byFile].sort()) {
    process.stdout.write(`    ${file}: ${names.map((each) => each.split(" ")[1]).join(", ")}\n`);
  }
}
