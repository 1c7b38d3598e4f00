// Attacks of different kinds on one process, one after the other and together: what one leaves behind is there for the next.
import { once } from "node:events";
import net from "node:net";
import { beforeAll, describe, it } from "vitest";
import { fill } from "../ledger/support.ts";
import {
  connectFrames,
  END_HEADERS,
  frame,
  frameType,
  get,
  headerBlock,
  INITIAL_WINDOW_SIZE,
  PREFACE,
  settings,
} from "../support/http2-frames.ts";
import { askRest } from "../support/service.ts";
import { startVictim, type Victim } from "./support.ts";

/** The neighbour connects from 127.0.0.1. */
const ADDRESSES = Array.from({ length: 12 }, (_, index) => `127.0.2.${index + 1}`);
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
  const body = "\u{1f600}".repeat(10_000);
  for (let index = 0; index < 50; index++) {
    await askRest(victim.url, "posts", { key: victim.key, body: { title: `Post ${index}`, body } });
  }
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

/** Opens connections from many addresses, each of which sends these bytes and reads nothing. */
async function connectMany(perAddress: number, bytes: string | Buffer): Promise<() => void> {
  const sockets: net.Socket[] = [];
  for (const localAddress of ADDRESSES) {
    const batch = Array.from({ length: perAddress }, () => {
      const socket = net.connect({ port: victim.port, host: "127.0.0.1", localAddress });
      socket.on("error", () => {}).pause();
      socket.write(bytes);
      return socket;
    });
    await Promise.all(batch.map((socket) => once(socket, "connect").catch(() => {})));
    sockets.push(...batch);
  }
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

/** Sends a part of each of 128 requests on each of 24 HTTP/2 connections, or all of it. */
async function post(path: string, part: Buffer, isWhole = false): Promise<() => void> {
  const fields = { ...json, accept: "application/json, text/event-stream", authorization: `Bearer ${victim.key}` };
  const connections = Array.from({ length: 24 }, () => connectFrames(victim.port, { [INITIAL_WINDOW_SIZE]: 0 }));
  for (const { socket } of connections) {
    for (let id = 1; id < 256; id += 2) {
      socket.write(frame(frameType.headers, END_HEADERS, id, headerBlock("POST", path, fields)));
      socket.write(frame(frameType.data, 0, id, part));
      socket.write(frame(frameType.data, isWhole ? 1 : 0, id, part));
    }
    socket.write(frame(frameType.ping, 0, 0, Buffer.alloc(8)));
  }
  await Promise.all(connections.map(({ received }) => received(({ type }) => type === frameType.ping)));
  return () => {
    for (const { socket } of connections) socket.destroy();
  };
}

const authorization = () => `Authorization: Bearer ${victim.key}\r\n`;
const ask = (path: string, fields = "") => `GET ${path} HTTP/1.1\r\nHost: stoa\r\n${fields}\r\n`;
const longHead = frame(frameType.headers, 0, 3, headerBlock("GET", "/healthz", { "x-long": "x".repeat(16_000) }));
const halfPost = frame(frameType.headers, END_HEADERS, 1, headerBlock("POST", "/api/v1/posts", json));
const spaces = Buffer.alloc(16_000, 32);

const attacks: [name: string, attack: () => Promise<() => void>][] = [
  ["heads over HTTP/1.1", () => connectMany(32, `GET / HTTP/1.1\r\n${"a: b\r\n".repeat(2_500)}`)],
  ["heads behind half requests over HTTP/2", () => connectMany(32, Buffer.concat([http2, halfPost, longHead]))],
  ["half bodies of REST", () => post("/api/v1/posts", spaces)],
  ["half bodies of MCP", () => post("/mcp", spaces)],
  ["whole bodies of MCP", () => post("/mcp", spaces, true)],
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
        const end = await attack();
        await fetch(`${victim.url}/healthz`);
        end();
      }
    });
  });

  it("all at the same time", async () => {
    await victim.during(async () => {
      const ends = await Promise.all(attacks.map(([, attack]) => attack()));
      await fetch(`${victim.url}/healthz`);
      for (const end of ends) end();
    });
  });
});
