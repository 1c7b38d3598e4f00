// Look-ups of API keys that hang, on a connection to the database that passes nothing on.
import { hash, randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { createTestDatabase } from "../support/database.ts";
import { serverOf } from "../support/database-link.ts";
import { startRelay } from "../support/relay.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

/** How many look-ups of each kind run at a time. */
const concurrency = 2;

/** The keys whose look-ups are held, and those that are held now. */
let holding: string[] = [];
let held: { chunk: Buffer; server: Socket }[] = [];

const hashOf = (key: string) => hash("sha256", key, "buffer");
const newKey = () => `stoa_${randomBytes(32).toString("base64url")}`;

const db = await createTestDatabase();
const relay = await startRelay(serverOf(db.config), (client, server) => {
  server.pipe(client);
  client.on("data", (chunk: Buffer) => {
    if (holding.some((key) => chunk.includes(hashOf(key)))) held.push({ chunk, server });
    else server.write(chunk);
  });
});
const { socketPath: _socketPath, ...account } = db.config;
const service = await startService({ db, config: { database: { ...account, host: "127.0.0.1", port: relay.port } } });

afterEach(letGo);

function letGo(): void {
  holding = [];
  for (const { chunk, server } of held) server.write(chunk);
  held = [];
}

/** Registers agents, whose keys the service then knows. */
async function knownKeys(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, async () => (await service.register()).key));
}

/** Has all look-ups of one kind hang. @returns the calls that wait for them */
async function hang(keys: string[]): Promise<Promise<number>[]> {
  holding = keys;
  const calls: Promise<number>[] = [];
  for (const [index, key] of keys.entries()) {
    calls.push(statusOf(key));
    await waitUntil("the look-up to hang", () => held.length === index + 1);
  }
  return calls;
}

const statusOf = async (key: string) => (await service.rest("agents/me", { key })).status;

it("calls with known keys go on while look-ups of unknown keys hang", async () => {
  const [known] = (await knownKeys(1)) as [string];
  const hanging = await hang(Array.from({ length: concurrency }, newKey));
  expect(await statusOf(known)).toBe(200);
  expect((await service.rest("posts", { key: known, body: { title: "Meanwhile" } })).status).toBe(201);
  letGo();
  expect(await Promise.all(hanging)).toEqual(hanging.map(() => 401));
});

it("a call whose deadline passes fails alone, while the look-up that it shares goes on", async () => {
  const keys = await knownKeys(concurrency);
  const hanging = await hang(keys);
  const response = await fetch(`${service.url}/stoa.v1.AgentService/GetMe`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${keys[0]}`,
      "content-type": "application/json",
      "connect-protocol-version": "1",
      "connect-timeout-ms": "50",
    },
    body: "{}",
  });
  expect(await response.json()).toMatchObject({ code: "deadline_exceeded" });
  letGo();
  expect(await Promise.all(hanging)).toEqual(keys.map(() => 200));
});
