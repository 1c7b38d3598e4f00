// Clients that ask for the largest replies and read none of them. The time limit is 2 s here instead of 45, so that the
// test need not wait; the budgets are the default ones.
import net from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import {
  connectFrames,
  frameType,
  get,
  grpcCall,
  INITIAL_WINDOW_SIZE,
  type ReceivedFrame,
} from "../support/http2-frames.ts";
import { fillFeed, startVictim, type Victim } from "./support.ts";

const feed = "/api/v1/posts?limit=50";
let victim: Victim;

beforeAll(async () => {
  victim = await startVictim({ STOA_SEND_TIMEOUT_SECONDS: "2" });
  await fillFeed(victim);
  const reply = await fetch(victim.url + feed);
  expect((await reply.arrayBuffer()).byteLength).toBeGreaterThan(2_000_000);
}, 60_000);

/**
 * Asks for something on many streams with a window of 0, and waits until the service has ended `enough` of them: further
 * requests may wait for as long as nothing is read.
 */
async function askAndReadNothing(
  streams: number,
  request: (stream: number) => Buffer,
  enough = Math.min(streams, 10),
): Promise<void> {
  const { socket, received, closed, frames } = connectFrames(victim.port, { [INITIAL_WINDOW_SIZE]: 0 });
  const ids = Array.from({ length: streams }, (_, index) => 2 * index + 1);
  socket.write(Buffer.concat(ids.map(request)));
  const ended = new Set<number>();
  await Promise.race([
    closed,
    received((each) => {
      if (each.type === frameType.rstStream || (each.flags & 1) !== 0) ended.add(each.stream);
      return ended.size === enough;
    }),
  ]);
  expect(frames.length).toBeGreaterThan(0);
  socket.destroy();
}

/** Pipelines requests on several connections that do not read, and waits until they are cut. */
async function pipelineAndReadNothing(connections: number, head: string): Promise<void> {
  const sockets = Array.from({ length: connections }, () => {
    const socket = net.connect(victim.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.pause();
    socket.write(head.repeat(40));
    return new Promise<void>((resolve) => {
      const stop = setInterval(() => socket.write("\r\n"), 250); // a write finds out that the connection has been reset
      socket.once("close", () => {
        clearInterval(stop);
        resolve();
      });
    });
  });
  await Promise.all(sockets);
}

describe("replies that nobody reads", { timeout: 120_000 }, () => {
  it("are bounded on one HTTP/2 connection with a closed window, also when they are compressed", async () => {
    for (const encoding of ["identity", "br"]) {
      await victim.during(() => askAndReadNothing(200, (stream) => get(stream, feed, { "accept-encoding": encoding })));
    }
  });

  it("are bounded over gRPC", async () => {
    const limit50 = Buffer.from([0x18, 50]);
    await victim.during(() =>
      askAndReadNothing(200, (stream) => grpcCall(stream, "/stoa.v1.PostService/ListPosts", limit50)),
    );
  });

  it("are bounded on many connections over pipelined HTTP/1.1", async () => {
    await victim.during(() => pipelineAndReadNothing(100, `GET ${feed} HTTP/1.1\r\nHost: stoa\r\n\r\n`));
  });

  it("are bounded if they are small and very many", async () => {
    for (const path of ["/healthz", "/api/v1/nothing"]) {
      await victim.during(() =>
        Promise.all(Array.from({ length: 240 }, () => askAndReadNothing(128, (stream) => get(stream, path), 128))),
      );
    }
  });

  it("are bounded if they are small and very many, and their clients leave together", async () => {
    await victim.during(async () => {
      const connections = Array.from({ length: 240 }, () => connectFrames(victim.port, { [INITIAL_WINDOW_SIZE]: 0 }));
      const ids = Array.from({ length: 128 }, (_, index) => 2 * index + 1);
      const requests = Buffer.concat(ids.map((id) => get(id, "/healthz")));
      for (const { socket } of connections) socket.write(requests);
      const isLastHead = ({ type, stream }: ReceivedFrame) => type === frameType.headers && stream === ids.at(-1);
      await Promise.all(connections.map(({ received }) => received(isLastHead)));
      for (const { socket } of connections) socket.destroy();
    });
  });

  it("are bounded if hundreds of clients read them, each with a parameter of its own", async () => {
    await victim.during(async () => {
      const clients = Array.from({ length: 240 }, (_, index) => {
        const localAddress = `127.0.3.${1 + (index % 6)}`;
        const socket = net.connect({ port: victim.port, host: "127.0.0.1", localAddress });
        socket.write(`GET ${feed}&unknown=${index} HTTP/1.1\r\nHost: stoa\r\nConnection: close\r\n\r\n`);
        return new Promise<number>((resolve) => {
          let bytes = 0;
          socket.on("data", (chunk) => {
            bytes += chunk.length;
          });
          socket.on("error", () => {}).once("close", () => resolve(bytes));
        });
      });
      const whole = (await Promise.all(clients)).filter((bytes) => bytes > 2_000_000);
      expect(whole.length).toBeGreaterThan(0);
    });
  });

  it("are bounded if clients ask for them and leave", async () => {
    await victim.during(async () => {
      for (let round = 0; round < 5; round++) {
        const aborts = Array.from({ length: 100 }, () => {
          const leaving = new AbortController();
          const asked = fetch(victim.url + feed, { signal: leaving.signal }).catch(() => undefined);
          setTimeout(() => leaving.abort(), 50);
          return asked;
        });
        await Promise.all(aborts);
      }
    });
  });
});
