// HTTP/2 frames in numbers and orders that no client sends.
import { once } from "node:events";
import { beforeAll, describe, expect, it } from "vitest";
import {
  connectFrames,
  END_HEADERS,
  type FrameConnection,
  field,
  frame,
  frameType,
  get,
  headerBlock,
  INITIAL_WINDOW_SIZE,
  ping,
  type ReceivedFrame,
  rstStream,
  settings,
  windowUpdate,
} from "../support/http2-frames.ts";
import { startVictim, type Victim } from "./support.ts";

const INTERNAL_ERROR = 2;
const ENHANCE_YOUR_CALM = 11;

let victim: Victim;
beforeAll(async () => {
  victim = await startVictim();
}, 60_000);

const isAnswer = ({ type }: ReceivedFrame) =>
  type === frameType.headers || type === frameType.rstStream || type === frameType.goaway;
const repeat = (count: number, make: (index: number) => Buffer) =>
  Buffer.concat(Array.from({ length: count }, (_, index) => make(index)));

/** Sends batches until the service ends the connection, or all have been sent; resolves with whether it has been ended. */
async function flood(
  make: (batch: number) => Buffer,
  batches = 200,
): Promise<{ ended: boolean; connection: FrameConnection }> {
  const connection = connectFrames(victim.port);
  const { socket, closed } = connection;
  let ended = false;
  closed.then(() => {
    ended = true;
  });
  for (let batch = 0; batch < batches && !ended; batch++) {
    const drained = socket.write(make(batch)) || new Promise((resolve) => socket.once("drain", resolve));
    await Promise.race([drained, closed, connection.received(({ type }) => type === frameType.goaway)]);
    await new Promise(setImmediate);
    if (connection.frames.some(({ type }) => type === frameType.goaway)) ended = true;
  }
  return { ended, connection };
}

describe("floods of HTTP/2 frames", { timeout: 60_000 }, () => {
  it("of requests that are reset at once end the session, and tell why", async () => {
    const connection = connectFrames(victim.port);
    connection.socket.write(
      repeat(600, (index) => Buffer.concat([get(2 * index + 1, "/api/v1/posts"), rstStream(2 * index + 1, 8)])),
    );
    const goaway = await connection.received(({ type }) => type === frameType.goaway);
    connection.socket.destroy();
    expect(goaway?.payload.readUInt32BE(4)).toBe(INTERNAL_ERROR);
  });

  it.each([
    ["SETTINGS", () => settings({ 4: 65_535 })],
    [
      "empty DATA",
      (index: number) =>
        index === 0
          ? frame(frameType.headers, END_HEADERS, 1, headerBlock("POST", "/api/v1/posts"))
          : frame(frameType.data, 0, 1),
    ],
    ["PRIORITY", (index: number) => frame(frameType.priority, 0, 2 * (index % 100_000) + 1, Buffer.alloc(5))],
    ["frames of unknown types", (index: number) => frame(200, 0, 2 * index + 1, Buffer.alloc(100))],
  ])("of %s do not harm the service", async (_name, make) => {
    await victim.during(async () => {
      const { connection } = await flood((batch) => repeat(1000, (index) => make(batch * 1000 + index)), 100);
      connection.socket.destroy();
    });
  });

  it("of PING whose answers nobody reads end the connection", async () => {
    const impatient = await startVictim({ STOA_SEND_TIMEOUT_SECONDS: "1" });
    const batch = repeat(10_000, () => ping);
    const before = impatient.residentMiB();
    await impatient.during(async () => {
      const { socket, closed } = connectFrames(impatient.port);
      socket.pause();
      let ended = false;
      closed.then(() => {
        ended = true;
      });
      // The service reads no more while it cannot send, so that this ends with the connection.
      while (!ended) {
        const drained = socket.write(batch) || new Promise((resolve) => socket.once("drain", resolve));
        await Promise.race([drained, closed]);
      }
    });
    expect(impatient.residentMiB() - before).toBeLessThan(64);
  });

  it("of windows that open byte by byte do not harm the service", async () => {
    await victim.during(async () => {
      const connection = connectFrames(victim.port, { [INITIAL_WINDOW_SIZE]: 0 });
      const ids = Array.from({ length: 200 }, (_, index) => 2 * index + 1);
      connection.socket.write(Buffer.concat(ids.map((id) => get(id, "/api/v1/posts"))));
      await connection.received(({ type }) => type === frameType.headers);
      for (let round = 0; round < 200; round++) {
        const updates = Buffer.concat([windowUpdate(0, 200), ...ids.map((id) => windowUpdate(id, 1))]);
        if (!connection.socket.write(updates))
          await Promise.race([once(connection.socket, "drain"), connection.closed]);
      }
      await connection.received(({ type }) => type === frameType.data);
      connection.socket.destroy();
    });
  });

  it("of references to one large header field are refused", async () => {
    await victim.during(async () => {
      // A literal with incremental indexing (RFC 7541, section 6.2.1), then its index, 62, thousands of times.
      const indexed = Buffer.concat([Buffer.from([0x40]), field("x-large", "y".repeat(3900)).subarray(1)]);
      const block = Buffer.concat([headerBlock("GET", "/healthz"), indexed, Buffer.alloc(8000, 0x80 | 62)]);
      for (let round = 0; round < 50; round++) {
        const { socket, received } = connectFrames(victim.port);
        socket.write(frame(frameType.headers, END_HEADERS | 1, 1, block));
        const answer = await received(isAnswer);
        expect(answer?.type).not.toBe(frameType.headers);
        socket.destroy();
      }
    });
  });

  it("of CONTINUATION frames end the session", async () => {
    const { ended } = await victim.during(() =>
      flood((batch) =>
        batch === 0
          ? frame(frameType.headers, 1, 1, headerBlock("GET", "/healthz"))
          : frame(
              frameType.continuation,
              0,
              1,
              repeat(100, (index) => field(`x-${index}`, "y".repeat(100))),
            ),
      ),
    );
    expect(ended).toBe(true);
  });

  it("of large header fields and of many small ones are refused", async () => {
    await victim.during(async () => {
      for (const fields of [
        repeat(150, (index) => field(`x-${index}`, "y".repeat(100))),
        repeat(1000, () => field("a", "")),
        repeat(10_000, () => field("a", "")),
      ]) {
        const connection = connectFrames(victim.port);
        const block = Buffer.concat([headerBlock("GET", "/healthz"), fields]);
        const parts = Array.from({ length: Math.ceil(block.length / 16_384) }, (_, index) =>
          block.subarray(index * 16_384, (index + 1) * 16_384),
        );
        const frames = parts.map((part, index) =>
          frame(
            index === 0 ? frameType.headers : frameType.continuation,
            (index === 0 ? 1 : 0) | (index === parts.length - 1 ? END_HEADERS : 0),
            1,
            part,
          ),
        );
        connection.socket.write(Buffer.concat(frames));
        const answer = await connection.received(isAnswer);
        expect(answer?.type).toBe(frameType.rstStream);
        expect(answer?.payload.readUInt32BE()).toBe(ENHANCE_YOUR_CALM);
        connection.socket.destroy();
      }
    });
  });
});
