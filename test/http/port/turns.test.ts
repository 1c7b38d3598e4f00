// Many requests that begin at the same time are divided among turns of the event loop.
import { once } from "node:events";
import net from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { certificate, connect, connectHttp2, get, readStream, request, start } from "../../support/port.ts";
import { waitUntil } from "../../support/wait.ts";

const STREAMS = 100;
/** How many requests may begin or end in one turn. */
const MOST = 32;

let turn = 0;
let next: NodeJS.Immediate;
afterEach(() => clearImmediate(next));
function followTurns(): void {
  next = setImmediate(() => {
    turn += 1;
    followTurns();
  });
}

/** Counts what happens in each turn of the event loop. */
class Counter {
  total = 0;
  most = 0;
  #inTurn = 0;
  #turn = 0;

  count(): void {
    this.#inTurn = turn === this.#turn ? this.#inTurn + 1 : 1;
    this.#turn = turn;
    this.total += 1;
    this.most = Math.max(this.most, this.#inTurn);
  }
}

/** A port whose application never answers a request, and counts what begins and what ends. */
async function startHolding(scheme = "http") {
  const begun = new Counter();
  const names: string[] = [];
  const running = await start(scheme === "https" ? { tls: certificate } : {}, (app) => {
    app.get<{ Params: { name: string } }>("/never/:name", async ({ params }, reply) => {
      names.push(params.name);
      begun.count();
      reply.hijack();
    });
  });
  // The first request of an application takes longer.
  await readStream(get(connectHttp2(running.number, scheme), "/version"));
  followTurns();
  return { ...running, begun, names };
}

it.each(["http", "https"])(
  "the requests of %s/2 sessions begin in portions, and sessions take turns",
  async (scheme) => {
    const { number, begun, names } = await startHolding(scheme);
    const sessions = [connectHttp2(number, scheme), connectHttp2(number, scheme)] as const;
    await Promise.all(sessions.map((session) => once(session, "remoteSettings")));
    for (let stream = 0; stream < STREAMS; stream++) get(sessions[0], "/never/first");
    get(sessions[1], "/never/second");
    await waitUntil("all requests to begin", () => begun.total === STREAMS + 1);
    expect(begun.most).toBeLessThanOrEqual(MOST);
    expect(names.indexOf("second")).toBeLessThan(STREAMS / 2);
  },
);

describe("a request waits for few of those from another address, however many connections that has", () => {
  const count = 6 * MOST;

  it("over HTTP/1.1", async () => {
    const { number, port, begun, names } = await startHolding();
    const from = (localAddress: string) =>
      connect(number, net.connect({ port: number, host: "127.0.0.1", localAddress }));
    const many = Array.from({ length: count }, () => from("127.0.0.2"));
    const other = from("127.0.0.3");
    await waitUntil("all connections to be open", () => port.connections.total > count + 1);
    for (const { socket } of many) socket.write(request("/never/many"));
    other.socket.write(request("/never/other"));
    await waitUntil("all requests to begin", () => begun.total === count + 1);
    expect(names.indexOf("other")).toBeLessThan(2 * MOST);
  });

  it("over HTTP/2", async () => {
    const { number, begun, names } = await startHolding();
    const from = async (localAddress: string) => {
      const createConnection = () => net.connect({ port: number, host: "127.0.0.1", localAddress });
      const session = connectHttp2(number, "http", { createConnection });
      await once(session, "remoteSettings");
      return session;
    };
    const many = await Promise.all(Array.from({ length: count }, () => from("127.0.0.2")));
    const other = await from("127.0.0.3");
    for (const session of many) for (let stream = 0; stream < 10; stream++) get(session, "/never/many");
    await waitUntil("the first to begin", () => begun.total > 0);
    const before = begun.total;
    get(other, "/never/other");
    await waitUntil("all requests to begin", () => begun.total === 10 * count + 1);
    // Some begin before it arrives. Each session has a turn before any has two.
    expect(names.indexOf("other") - before).toBeLessThan(4 * MOST);
  });
});

it.each(["http", "https"])("many %s/2 sessions with many requests each are all answered", async (scheme) => {
  const { number, port } = await start({ tls: scheme === "https" ? certificate : undefined });
  const sessions = Array.from({ length: 6 }, () => connectHttp2(number, scheme));
  const ask = (session: (typeof sessions)[number]) => readStream(get(session, "/version"));
  const replies = await Promise.all(
    sessions.flatMap((session) => Array.from({ length: 2 * MOST }, () => ask(session))),
  );
  expect(new Set(replies)).toEqual(new Set(['{"version":"2.0"}']));
  // The sessions are still read: a second round is answered, and they notice when their clients leave.
  await Promise.all(sessions.map(ask));
  const closed = sessions.map((session) => once(session, "close"));
  for (const session of sessions) session.close();
  await Promise.all(closed);
  while (port.connections.total > 0) await new Promise(setImmediate);
});

it("HTTP/1.1 requests of many connections begin in portions", async () => {
  const { number, port, begun } = await startHolding();
  const connections = Array.from({ length: 3 * MOST }, () => connect(number));
  await waitUntil("all connections to be open", () => port.connections.total > connections.length);
  for (const { socket } of connections) socket.write(request("/never/held"));
  await waitUntil("all requests to begin", () => begun.total === connections.length);
  expect(begun.most).toBeLessThanOrEqual(MOST);
});
