import { once } from "node:events";
import { beforeEach, describe, expect, it } from "vitest";
import { ArrivalGate, type GatedSession } from "../../../src/http/port/arrival-gate.ts";
import { certificate, connectHttp2, get, readStream, start } from "../../support/port.ts";

const MAX_ARRIVALS_A_TURN = 256;
const MAX_WAITING = 1024;
const nextTurn = () => new Promise(setImmediate);

class Session implements GatedSession {
  readonly name: string;
  readonly #log: string[];
  isRead = true;

  constructor(name: string, log: string[]) {
    this.name = name;
    this.#log = log;
  }

  stopReading(): void {
    this.isRead = false;
  }

  startReading(): void {
    this.isRead = true;
    this.#log.push(this.name);
  }
}

describe("the gate", () => {
  let ends: { waiting: number };
  let gate: ArrivalGate;
  let started: string[];
  let sessions: Session[];
  const arrive = (session: Session, streams: number) => {
    for (let stream = 0; stream < streams; stream++) gate.arrive(session);
  };

  beforeEach(() => {
    ends = { waiting: 0 };
    gate = new ArrivalGate(ends);
    started = [];
    sessions = ["a", "b", "c"].map((name) => new Session(name, started));
    for (const session of sessions) gate.add(session);
  });
  const read = () => sessions.filter(({ isRead }) => isRead).map(({ name }) => name);

  it("stays open while less arrives in a turn than may", async () => {
    const [a] = sessions as [Session];
    for (let turn = 0; turn < 5; turn++) {
      arrive(a, MAX_ARRIVALS_A_TURN - 1);
      expect(read()).toEqual(["a", "b", "c"]);
      await nextTurn();
    }
  });

  it("closes until the next turn once enough has arrived; sessions that were served come last", async () => {
    const [a] = sessions as [Session];
    arrive(a, MAX_ARRIVALS_A_TURN);
    expect(read()).toEqual([]);
    await nextTurn();
    expect(started).toEqual(["b", "c", "a"]);
  });

  it("stops a session that is read although the gate is closed", () => {
    const [a, b] = sessions as [Session, Session];
    arrive(a, MAX_ARRIVALS_A_TURN);
    b.isRead = true; // Node reads again after a write
    arrive(b, 1);
    expect(read()).toEqual([]);
  });

  it("stays closed while much waits, until half of it has begun", async () => {
    gate.wait(MAX_WAITING);
    expect(read()).toEqual([]);
    gate.wait(-MAX_WAITING / 2);
    await nextTurn();
    expect(read()).toEqual([]);
    gate.wait(-1);
    await nextTurn();
    expect(read()).toEqual(["a", "b", "c"]);
  });

  it("counts the streams that wait for their end", async () => {
    const [a] = sessions as [Session];
    ends.waiting = MAX_WAITING;
    arrive(a, 1);
    expect(read()).toEqual([]);
    await nextTurn();
    expect(read()).toEqual([]);
    ends.waiting = 0;
    await nextTurn();
    expect(read()).toEqual(["a", "b", "c"]);
  });

  it("lets new sessions wait, and begins no more of them than may arrive", async () => {
    const [a] = sessions as [Session];
    arrive(a, MAX_ARRIVALS_A_TURN);
    const late = new Session("late", started);
    gate.add(late);
    expect(late.isRead).toBe(false);

    const begun: number[] = [];
    for (let session = 0; session < 100; session++) gate.enter(() => begun.push(session));
    expect(begun).toEqual([]);
    const counts: number[] = [];
    while (begun.length < 100) {
      const before = begun.length;
      await nextTurn();
      counts.push(begun.length - before);
    }
    expect(Math.max(...counts)).toBeLessThanOrEqual(MAX_ARRIVALS_A_TURN / 4);
    expect(begun).toEqual(Array.from({ length: 100 }, (_, session) => session));
  });

  it("forgets a session that has ended", async () => {
    const [a, b] = sessions as [Session, Session];
    arrive(a, 1);
    gate.remove(a);
    arrive(b, MAX_ARRIVALS_A_TURN);
    await nextTurn();
    expect(started).toEqual(["c", "b"]);
  });
});

describe.each(["http", "https"])("many %s/2 sessions with many requests each", (scheme) => {
  it("are all answered", { timeout: 60_000 }, async () => {
    const tls = scheme === "https" ? certificate : undefined;
    const { number, port } = await start({ tls });
    const sessions = Array.from({ length: 12 }, () => connectHttp2(number, scheme));
    const asked = sessions.flatMap((session) =>
      Array.from({ length: 120 }, () => readStream(get(session, "/version"))),
    );
    const replies = await Promise.all(asked);
    expect(new Set(replies).size).toBe(1);
    expect(replies[0]).toContain("2.0");
    // The sessions are still read: a second round is answered, and they notice when their clients leave.
    await Promise.all(sessions.map((session) => readStream(get(session, "/version"))));
    const closed = sessions.map((session) => once(session, "close"));
    for (const session of sessions) session.close();
    await Promise.all(closed);
    while (port.connections.total > 0) await nextTurn();
  });
});
