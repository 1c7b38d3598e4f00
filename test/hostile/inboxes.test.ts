// Streams of a full inbox: more of them than may be, that nobody reads, over every protocol, and from impossible places.
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectSocket, type Socket } from "node:net";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { askAll } from "./requests.ts";
import { startVictim, type Victim } from "./support.ts";

const path = "/api/v1/agents/me/inbox/stream";
const itemCount = 20_000;
let victim: Victim;
let authorization: string;
let open: (ClientHttp2Session | Socket)[] = [];
const destroyAll = () => {
  for (const each of open) each.destroy();
  open = [];
};
afterEach(destroyAll);

/** Fills the inbox of the neighbour with items about a long comment. */
async function fillInbox({ db }: Victim): Promise<void> {
  const body = "\u{1f600}".repeat(5_000);
  await db.pool.query("INSERT INTO comments (post_id, author_id, body, created_at) VALUES (1, 1, ?, 0)", [body]);
  const [comment] = await db.rows<{ id: number }>("SELECT MAX(id) AS id FROM comments");
  const items = Array.from({ length: itemCount }, (_, i) => [1, i + 1, "mention", 1, comment?.id, 1, Date.now()]);
  for (let at = 0; at < items.length; at += 2_000) {
    await db.pool.query(
      "INSERT INTO inbox_items (agent_id, id, type, post_id, comment_id, actor_id, created_at) VALUES ?",
      [items.slice(at, at + 2_000)],
    );
  }
  await db.pool.query("REPLACE INTO inboxes (agent_id, newest, read_up_to, unread) VALUES (1, ?, 0, ?)", [
    itemCount,
    itemCount,
  ]);
}

describe("the service survives streams of inboxes", { timeout: 120_000 }, () => {
  beforeAll(async () => {
    victim = await startVictim();
    authorization = `Bearer ${victim.key}`;
    await fillInbox(victim);
  }, 60_000);

  // First, because streams wait once the others have spent the calls of the agent.
  it("from places that there are not", async () => {
    const ids = ["0", "-1", "1e3", "99999999", "9007199254740993", "9".repeat(8_000), "\u00ff", "1\t1", ""];
    const asks = ids.flatMap((id) =>
      [undefined, "text/event-stream"].flatMap((accept) => {
        const headers = { authorization, "last-event-id": id, ...(accept === undefined ? {} : { accept }) };
        return [
          { path: `${path}?from=${encodeURIComponent(id)}`, headers },
          { path: `/api/v1/house/receipts/stream?from=${encodeURIComponent(id)}`, headers: { ...headers } },
        ];
      }),
    );
    const statuses = await victim.during(() => askAll(victim.url, [...asks, ...asks]));
    expect(
      [...statuses.keys()].filter((status) => ![200, 400, 404, 429, 503].includes(status)),
      String([...statuses]),
    ).toEqual([]);
  });

  it.each([
    ["lines", "*/*"],
    ["events", "text/event-stream"],
  ])("as %s over HTTP/1.1 that never read", async (_name, accept) => {
    await victim.during(async () => {
      const head = `GET ${path}?follow=true&from=1 HTTP/1.1\r\nHost: stoa\r\nAuthorization: ${authorization}\r\nAccept: ${accept}\r\n\r\n`;
      const sockets = Array.from({ length: 200 }, () => {
        const socket = connectSocket(victim.port, "127.0.0.1");
        socket.on("error", () => {}).pause();
        socket.write(head);
        open.push(socket);
        return socket;
      });
      await Promise.all(
        sockets.map((each) => new Promise((resolve) => each.once("readable", resolve).once("close", resolve))),
      );
      destroyAll();
    });
  });

  it.each([
    ["gRPC", "application/grpc"],
    ["gRPC-Web", "application/grpc-web"],
    ["Connect", "application/connect+proto"],
  ])("over %s, some of which read nothing", async (_name, type) => {
    await victim.during(async () => {
      const rpc = "/stoa.v1.InboxService/WatchInbox";
      // From 1, and follow.
      const message = Buffer.from([0, 0, 0, 0, 4, 0x08, 1, 0x10, 1]);
      for (let connection = 0; connection < 4; connection++) {
        const isReading = connection % 2 === 0;
        const session = connect(victim.url, { settings: { initialWindowSize: isReading ? 65_535 : 0 } });
        session.on("error", () => {});
        open.push(session);
        const streams = Array.from({ length: 120 }, () => {
          const headers = { ":method": "POST", ":path": rpc, "content-type": type, te: "trailers", authorization };
          const stream = session.request(headers);
          stream.on("error", () => {});
          if (isReading) stream.resume();
          stream.end(message);
          return stream;
        });
        await Promise.all(
          streams.map((each) => new Promise((resolve) => each.once("response", resolve).once("close", resolve))),
        );
      }
      destroyAll();
    });
  });
});
