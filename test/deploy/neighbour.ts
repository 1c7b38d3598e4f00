// A well-behaved client of a proxy: it reads over a kept connection, over new ones and by gRPC, and writes once a second. It is
// a process of its own, so that no attack slows it down, and tells its parent how long each request took.
//   node neighbour.ts PORT CA API_KEY POST_ID
import { Agent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import type { NeighbourReply } from "../support/attacked.ts";
import { ask } from "./client.ts";
import { GrpcReader } from "./grpc-reader.ts";

const [port = "", ca = "", key = "", postId = ""] = process.argv.slice(2);
const site = { port: Number(port), ca };
const localAddress = "127.0.0.2";
const kept = new Agent({ keepAlive: true, maxSockets: 1 });
const paths = ["/api/v1/posts?limit=5", "/", `/api/v1/posts/${postId}`];
/** Pauses between requests, in milliseconds. */
const pauseMs = { kept: 40, new: 200, grpc: 100, write: 1_000 };

async function measure(request: string, work: () => Promise<number | string>): Promise<void> {
  const begun = performance.now();
  const status = await work().catch((error: Error) => error.message);
  const reply: NeighbourReply = { request, status, ms: performance.now() - begun };
  // The parent may disconnect meanwhile.
  if (process.connected) process.send?.(reply, undefined, undefined, () => {});
}

async function readOver(what: "kept" | "new"): Promise<void> {
  for (let count = 0; process.connected; count++) {
    const path = paths[count % paths.length] as string;
    const options = { key, localAddress, ...(what === "kept" ? { agent: kept } : {}) };
    await measure(`GET ${path} over a ${what} connection`, async () => (await ask(site, path, options)).status);
    await sleep(pauseMs[what]);
  }
}

async function write(): Promise<void> {
  for (let count = 0; process.connected; count++) {
    const body = { body: `Still here, ${count}.` };
    const path = `/api/v1/posts/${postId}/comments`;
    await measure("a write", async () => (await ask(site, path, { key, localAddress, body })).status);
    await sleep(pauseMs.write);
  }
}

async function readByGrpc(): Promise<void> {
  const reader = new GrpcReader(site, localAddress, BigInt(postId));
  while (process.connected) {
    await measure("a read by gRPC", () => reader.read());
    await sleep(pauseMs.grpc);
  }
  reader.close();
}

await Promise.all([readOver("kept"), readOver("new"), write(), readByGrpc()]);
