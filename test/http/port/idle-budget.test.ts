import { afterEach, describe, expect, it } from "vitest";
import { HeldMemory } from "../../../src/http/port/held-memory.ts";
import { type BudgetedConnection, IdleBudget } from "../../../src/http/port/idle-budget.ts";
import { END_HEADERS, frame, frameType, headerBlock } from "../../support/http2-frames.ts";
import {
  certificate,
  connect,
  connectHttp2,
  EMPTY_SETTINGS,
  GOAWAY,
  get,
  PREFACE,
  readStream,
  request,
  start,
} from "../../support/port.ts";
import { waitUntil } from "../../support/wait.ts";

const MIB = 1024 * 1024;

describe("the budget of idle connections", () => {
  let budget: IdleBudget | undefined;
  afterEach(() => budget?.stop());

  /** Checks connections of these sizes once. @returns the places of those that were ended, in that order */
  function endedOf(sizes: readonly number[], extraBytes = 0): number[] {
    const ended: number[] = [];
    const connections = sizes.map(
      (bytes, index): BudgetedConnection => ({ idleBytes: () => bytes, endIdle: () => ended.push(index) }),
    );
    budget = new IdleBudget(() => connections, new HeldMemory(Number.POSITIVE_INFINITY), extraBytes);
    budget.check();
    return ended;
  }

  it("ends nothing while all together hold little", () => {
    expect(endedOf(Array.from({ length: 700 }, () => 0.06 * MIB))).toEqual([]);
  });

  it("counts what TLS holds of each", () => {
    expect(endedOf(Array(400).fill(0.1 * MIB), 0.01 * MIB)).toEqual([]);
    expect(endedOf(Array(400).fill(0.1 * MIB), 0.03 * MIB).length).toBeGreaterThan(0);
  });

  it("looks after each 128 new connections, which may come faster than time passes", () => {
    let looks = 0;
    budget = new IdleBudget(() => {
      looks += 1;
      return [];
    }, new HeldMemory(Number.POSITIVE_INFINITY));
    for (let count = 0; count < 3 * 128; count++) budget.count();
    expect(looks).toBe(3);
  });

  it("ends the largest first, of equal ones the oldest, and none with a running request, until the rest is small", () => {
    // 42 MiB remain of 55.
    expect(endedOf([1, 0, 5, 1, 4, 4, ...Array.from({ length: 40 }, () => 1)].map((each) => each * MIB))).toEqual([
      2, 4, 5,
    ]);
  });
});

it("heads that never end are cut when all together are too much, and other connections go on", async () => {
  const { number, port, entered, release } = await start({});
  const begun = entered();
  const busy = connect(number);
  busy.socket.write(request("/held"));
  await begun;
  const idle = connect(number);
  idle.socket.write(request("/version"));
  await idle.seen("}");
  const session = connectHttp2(number);
  await readStream(get(session, "/version"));
  const head = `GET / HTTP/1.1\r\nHost: stoa\r\nX-Long: ${"x".repeat(15_000)}`;
  const heads = Array.from({ length: 600 }, () => {
    const connection = connect(number);
    connection.socket.write(head);
    return connection;
  });
  const closed = heads.map(({ closed }, index) => closed.then(() => index));
  // The oldest are cut.
  expect(await Promise.race(closed)).toBeLessThan(200);
  // 48 MiB, of which each takes eight times its 15,000 bytes.
  await waitUntil("the rest to be small", () => port.connections.total < 420);
  expect(port.connections.total).toBeGreaterThan(300);
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
