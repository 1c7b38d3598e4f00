import { afterEach, describe, expect, it, vi } from "vitest";
import { LargeReads } from "../../src/calls/large-reads.ts";

const never = new AbortController().signal;

/** Starts reads until the limit is reached. @returns the reads, and the names of those that began later, in order */
function filled(): {
  reads: LargeReads;
  begun: string[];
  ask: (caller: string, signal?: AbortSignal) => Promise<void>;
} {
  const reads = new LargeReads(() => 10_000);
  for (let count = 0; count < 8; count++) expect(reads.begin("somebody", never)).toBeUndefined();
  const begun: string[] = [];
  const ask = async (caller: string, signal = never) => {
    await reads.begin(caller, signal);
    begun.push(caller);
  };
  return { reads, begun, ask };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("LargeReads", () => {
  it("starts eight at once, and each further one when another ends", async () => {
    const reads = new LargeReads(() => 10_000);
    for (let count = 0; count < 8; count++) expect(reads.begin("a", never)).toBeUndefined();
    const next = reads.begin("a", never);
    expect(next).toBeInstanceOf(Promise);
    reads.end();
    await next;
    for (let count = 0; count < 8; count++) reads.end();
    for (let count = 0; count < 8; count++) expect(reads.begin("a", never)).toBeUndefined();
    const last = reads.begin("a", never);
    expect(last).toBeInstanceOf(Promise);
    reads.end();
    await last;
  });

  it("runs one at a time after a large reply, and one more after each small reply", async () => {
    const reads = new LargeReads(() => 10_000);
    for (let count = 0; count < 4; count++) expect(reads.begin("a", never)).toBeUndefined();
    reads.end(300_000);
    // Three are running. No other read begins until all of them have ended.
    const begun = vi.fn();
    const waiting = [reads.begin("a", never)?.then(begun), reads.begin("a", never)?.then(begun)];
    reads.end(300_000);
    reads.end(300_000);
    await Promise.resolve();
    expect(begun).not.toHaveBeenCalled();
    reads.end(300_000);
    await waiting[0];
    expect(begun).toHaveBeenCalledTimes(1);
    reads.end(200_000);
    await waiting[1];
    // After the small reply, two may run.
    expect(reads.begin("a", never)).toBeUndefined();
    const last = reads.begin("a", never);
    expect(last).toBeInstanceOf(Promise);
    reads.end();
    await last;
  });

  it("lets callers take turns, however many reads each of them requests", async () => {
    const { reads, begun, ask } = filled();
    const asked = ["greedy", "greedy", "greedy", "modest", "greedy", "other"].map((caller) => ask(caller));
    for (let count = 0; count < 6; count++) reads.end();
    await Promise.all(asked);
    expect(begun).toEqual(["greedy", "modest", "other", "greedy", "greedy", "greedy"]);
  });

  it("passes the turn of a caller that gives up to the next one", async () => {
    const { reads, begun, ask } = filled();
    const leaving = new AbortController();
    const left = ask("leaver", leaving.signal);
    const stays = ask("stayer");
    const reason = new Error("gone");
    leaving.abort(reason);
    await expect(left).rejects.toBe(reason);
    await expect(ask("late", leaving.signal)).rejects.toBe(reason);
    reads.end();
    await stays;
    expect(begun).toEqual(["stayer"]);
  });

  it("refuses a read whose deadline passes before its turn comes", async () => {
    vi.useFakeTimers();
    const { reads, ask } = filled();
    const waiting = ask("a");
    const refused = expect(waiting).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    await vi.advanceTimersByTimeAsync(10_000);
    await refused;
    reads.end();
    expect(reads.begin("b", never)).toBeUndefined();
  });
});
