// Attacks of different kinds on one process, one after the other and together: what one leaves behind is there for the next.
// Together they have some 450 connections. `npm run test:proxies` makes thousands at once.
import type { Socket } from "node:net";
import { beforeAll, describe, it } from "vitest";
import { fill } from "../ledger/support.ts";
import { END_HEADERS, frame, frameType, get, headerBlock, PREFACE, settings } from "../support/http2-frames.ts";
import { destroy, openMany, sendHalf } from "./sockets.ts";
import { fillFeed, startVictim, type Victim } from "./support.ts";

/** The neighbour connects from 127.0.0.1. */
const ADDRESSES = Array.from({ length: 3 }, (_, index) => `127.0.2.${index + 1}`);
const feed = "/api/v1/posts?limit=50";
const receipts = "/api/v1/house/receipts/stream?follow=true";
const inbox = "/api/v1/agents/me/inbox/stream?follow=true&from=1";
const itemsOfInbox = 20_000;
const json = { "content-type": "application/json" };
const http2 = Buffer.concat([Buffer.from(PREFACE), settings()]);

let victim: Victim;
beforeAll(async () => {
  // Requests that are refused for their number would not be read.
  victim = await startVictim({ STOA_RATE_LIMITS: "off" });
  await fillFeed(victim);
  await fill(victim.db, 60, 4_000);
  await fillInbox(victim);
}, 60_000);

/** Fills the inbox of the neighbour with items about a long comment. */
async function fillInbox({ db }: Victim): Promise<void> {
  const body = "\u{1f600}".repeat(5_000);
  await db.pool.query("INSERT INTO comments (post_id, author_id, body, created_at) VALUES (1, 1, ?, 0)", [body]);
  const [comment] = await db.rows<{ id: number }>("SELECT MAX(id) AS id FROM comments");
  const items = Array.from({ length: itemsOfInbox }, (_, i) => [1, i + 1, "mention", 1, comment?.id, 1, Date.now()]);
  for (let at = 0; at < items.length; at += 2_000) {
    await db.pool.query(
      "INSERT INTO inbox_items (agent_id, id, type, post_id, comment_id, actor_id, created_at) VALUES ?",
      [items.slice(at, at + 2_000)],
    );
  }
  await db.pool.query("REPLACE INTO inboxes (agent_id, newest, read_up_to, unread) VALUES (1, ?, 0, ?)", [
    itemsOfInbox,
    itemsOfInbox,
  ]);
}

/** Opens connections from all addresses, each of which sends these bytes and reads nothing. */
function connectMany(perAddress: number, bytes: string | Buffer) {
  const begin = (socket: Socket) => void socket.pause().write(bytes);
  return openMany(victim.port, perAddress * ADDRESSES.length, ADDRESSES, begin, perAddress);
}

function post(path: string, isWhole = false) {
  const fields = { ...json, accept: "application/json, text/event-stream", authorization: `Bearer ${victim.key}` };
  return sendHalf(victim.port, 128, {
    path,
    fields,
    parts: [Buffer.alloc(16_000, 32), Buffer.alloc(16_000, 32)],
    isWhole,
  });
}

const authorization = () => `Authorization: Bearer ${victim.key}\r\n`;
const ask = (path: string, fields = "") => `GET ${path} HTTP/1.1\r\nHost: stoa\r\n${fields}\r\n`;
const longHead = frame(frameType.headers, 0, 3, headerBlock("GET", "/healthz", { "x-long": "x".repeat(16_000) }));
const halfPost = frame(frameType.headers, END_HEADERS, 1, headerBlock("POST", "/api/v1/posts", json));

const attacks: [name: string, attack: () => Promise<{ socket: Socket }[]>][] = [
  ["heads over HTTP/1.1", () => connectMany(32, `GET / HTTP/1.1\r\n${"a: b\r\n".repeat(2_500)}`)],
  ["heads behind half requests over HTTP/2", () => connectMany(32, Buffer.concat([http2, halfPost, longHead]))],
  ["half bodies of REST", () => post("/api/v1/posts")],
  ["half bodies of MCP", () => post("/mcp")],
  ["whole bodies of MCP", () => post("/mcp", true)],
  ["unread feeds over HTTP/1.1", () => connectMany(16, ask(feed).repeat(20))],
  [
    "unread feeds over HTTP/2",
    () => connectMany(4, Buffer.concat([http2, ...[1, 3, 5, 7].map((id) => get(id, feed))])),
  ],
  ["unread receipts", () => connectMany(16, ask(receipts))],
  ["unread receipts as events", () => connectMany(16, ask(receipts, "Accept: text/event-stream\r\n"))],
  ["unread inboxes", () => connectMany(8, ask(inbox, authorization()))],
];

describe("different attacks on one process", { timeout: 120_000 }, () => {
  it.each(["first", "second"])("one after the other, for the %s time", async () => {
    await victim.during(async () => {
      for (const [, attack] of attacks) {
        const connections = await attack();
        await fetch(`${victim.url}/healthz`);
        destroy(connections);
      }
    });
  });

  it("all at the same time", async () => {
    await victim.during(async () => {
      const connections = await Promise.all(attacks.map(([, attack]) => attack()));
      await fetch(`${victim.url}/healthz`);
      destroy(connections.flat());
    });
  });
});
