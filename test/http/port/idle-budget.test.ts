import type { Socket } from "node:net";
import { expect, it } from "vitest";
import { END_HEADERS, frame, frameType, headerBlock } from "../../support/http2-frames.ts";
import {
  certificate,
  connect,
  connectHttp2,
  EMPTY_SETTINGS,
  GOAWAY,
  get,
  onConnection,
  PREFACE,
  readStream,
  request,
  start,
} from "../../support/port.ts";
import { waitUntil } from "../../support/wait.ts";

it("heads that never end are cut when all together are too much, and other connections go on", async () => {
  const { number, port, entered, release } = await start({});
  const running = entered();
  const busy = connect(number);
  busy.socket.write(request("/held"));
  await running;
  const idle = connect(number);
  idle.socket.write(request("/version"));
  await idle.seen("}");
  const session = connectHttp2(number);
  await readStream(get(session, "/version"));
  const heads: Socket[] = [];
  onConnection(number, (socket) => heads.push(socket));
  const open = new Set<number>();
  const begin = (count: number, bytes: number) => {
    for (const last = begun + count; begun < last; begun++) {
      const { socket, closed } = connect(number);
      socket.write(`GET / HTTP/1.1\r\nHost: stoa\r\nX-Long: ${"x".repeat(bytes)}`);
      const index = begun;
      open.add(index);
      void closed.then(() => open.delete(index));
    }
  };
  let begun = 0;
  begin(300, 14_500);
  begin(10, 15_500);
  await waitUntil(
    "the first to be read",
    () => heads.length === 310 && heads.every(({ bytesRead }) => bytesRead > 14_500),
  );
  begin(310, 14_500);
  // 48 MiB, of which each takes eight times its bytes. Three other connections are open.
  const isSmall = () => open.size < 435 && port.connections.total === open.size + 3;
  await waitUntil("all to have come, and the rest to be small", isSmall);
  expect(open.size).toBeGreaterThan(300);
  // The largest are cut first, then the oldest.
  expect([...open].filter((index) => index >= 300 && index < 310)).toEqual([]);
  expect([...open].filter((index) => index >= 520).length).toBe(100);
  release();
  await busy.seen("}");
  idle.socket.write(request("/version"));
  await idle.seen("}", 2);
  expect(await readStream(get(session, "/version"))).toContain("2.0");
});

it("sessions whose requests never arrive are ended at once, and others go on", async () => {
  const { number, port } = await start({});
  const session = connectHttp2(number);
  const running = get(session, "/streamed");
  running.resume();
  await new Promise((resolve) => running.once("response", resolve));
  const half = frame(frameType.headers, END_HEADERS, 1, headerBlock("POST", "/length"));
  const bytes = Buffer.concat([Buffer.from(PREFACE), EMPTY_SETTINGS, half]);
  const halves = Array.from({ length: 1_050 }, () => {
    const connection = connect(number);
    connection.socket.write(bytes);
    return connection;
  });
  // 48 MiB of 48 KiB.
  const ended = await Promise.race(halves.map(({ closed }) => closed));
  expect(ended).toContain(GOAWAY);
  await waitUntil("the rest to be small", () => port.connections.total <= 1_024);
  expect(await readStream(get(session, "/version"))).toContain("2.0");
});

it("connections that never shake hands are cut when all together are too much", async () => {
  const { number, port } = await start({ tls: certificate });
  const silent = Array.from({ length: 840 }, () => connect(number));
  await Promise.race(silent.map(({ closed }) => closed));
  // 48 MiB, of which each takes 60 KiB.
  await waitUntil("the rest to be small", () => port.connections.total < 820);
});
