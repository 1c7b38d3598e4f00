import { afterEach, describe, expect, it, vi } from "vitest";
import { SharedReads } from "../../src/calls/shared-reads.ts";

/** A read that ends when the test says so. */
interface Run {
  kind: "alone" | "together";
  resolve(value: string): void;
  reject(reason: unknown): void;
  signal: AbortSignal | undefined;
}

function createReads(isLarge?: (result: string) => boolean) {
  const reads = new SharedReads<string>(isLarge);
  const runs: Run[] = [];
  const start = (kind: Run["kind"], signal?: AbortSignal) =>
    new Promise<string>((resolve, reject) => runs.push({ kind, resolve, reject, signal }));
  const get = (key = "a", signal = new AbortController().signal) => {
    const reading = reads.get(key, { signal, alone: () => start("alone"), together: (all) => start("together", all) });
    reading.catch(() => {});
    return reading;
  };
  return { reads, runs, get };
}

/** Lets everything run that can run now. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("identical reads", () => {
  it("share the next read, which begins after they came", async () => {
    const { runs, get } = createReads();
    const first = get();
    const others = [get(), get(), get()];
    expect(runs.map(({ kind }) => kind)).toEqual(["alone"]);
    runs[0]?.resolve("old");
    expect(await first).toBe("old");
    await turn();
    expect(runs.map(({ kind }) => kind)).toEqual(["alone", "together"]);
    // This one came after the shared read began, so it needs another.
    const late = get();
    runs[1]?.resolve("new");
    expect(await Promise.all(others)).toEqual(["new", "new", "new"]);
    await turn();
    runs[2]?.resolve("newest");
    expect(await late).toBe("newest");
  });

  it.each([
    ["large", 2],
    ["small", 32],
  ])("let few callers with a %s result go on in one turn", async (kind, most) => {
    const { runs, get } = createReads((result) => result === "large");
    const first = get();
    let done = 0;
    const others = Array.from({ length: 3 * most }, () => get().then(() => done++));
    runs[0]?.resolve("old");
    await first;
    await turn();
    runs[1]?.resolve(kind);
    const counts: number[] = [];
    while (done < others.length) {
      const before = done;
      await turn();
      counts.push(done - before);
    }
    expect(Math.max(...counts)).toBeLessThanOrEqual(most);
  });

  it("do not let the callers of another read wait for all of theirs", async () => {
    const { runs, get } = createReads(() => true);
    const firsts = [get("a"), get("b")];
    const settled: string[] = [];
    for (const key of ["a", "b"]) {
      for (let caller = 0; caller < 20; caller++) get(key).then(() => settled.push(key));
    }
    for (const run of runs.splice(0)) run.resolve("old");
    await Promise.all(firsts);
    await turn();
    for (const run of runs) run.resolve("new");
    while (settled.length < 8) await turn();
    const others = settled.slice(0, 8).filter((key) => key === "b");
    expect(others.length).toBeGreaterThanOrEqual(3);
  });

  it("are made alone by a caller that nobody waits with", async () => {
    const { reads, runs, get } = createReads();
    const first = get();
    const second = get();
    runs[0]?.resolve("1");
    await first;
    await turn();
    expect(runs.map(({ kind }) => kind)).toEqual(["alone", "alone"]);
    runs[1]?.resolve("2");
    expect(await second).toBe("2");
    await turn();
    expect(reads.size).toBe(0);
  });

  it("fail together", async () => {
    const { reads, runs, get } = createReads();
    const first = get();
    const others = [get(), get()];
    runs[0]?.reject(new Error("alone"));
    await expect(first).rejects.toThrow("alone");
    await turn();
    const failure = new Error("together");
    runs[1]?.reject(failure);
    for (const each of others) await expect(each).rejects.toBe(failure);
    await turn();
    expect(reads.size).toBe(0);
  });

  it("of other things are not held up", async () => {
    const { runs, get } = createReads();
    get("a");
    get("b");
    expect(runs.length).toBe(2);
  });
});

describe("a caller that leaves", () => {
  it("ends its own wait alone", async () => {
    const { runs, get } = createReads();
    get();
    const leaving = new AbortController();
    const [gone, staying, other] = [get("a", leaving.signal), get(), get()];
    runs[0]?.resolve("1");
    await turn();
    leaving.abort(new Error("left"));
    await expect(gone).rejects.toThrow("left");
    expect(runs[1]?.signal?.aborted).toBe(false);
    runs[1]?.resolve("2");
    expect(await Promise.all([staying, other])).toEqual(["2", "2"]);
  });

  it("ends the read if it was the last one", async () => {
    const { runs, get } = createReads();
    get();
    const leaving = new AbortController();
    get("a", leaving.signal);
    get("a", leaving.signal);
    runs[0]?.resolve("1");
    await turn();
    leaving.abort(new Error("left"));
    expect(runs[1]?.signal?.aborted).toBe(true);
  });

  it("before the read begins causes none", async () => {
    const { reads, runs, get } = createReads();
    get();
    const leaving = new AbortController();
    get("a", leaving.signal);
    leaving.abort(new Error("left"));
    await expect(get("a", leaving.signal)).rejects.toThrow("left");
    runs[0]?.resolve("1");
    await turn();
    expect(runs.length).toBe(1);
    expect(reads.size).toBe(0);
  });
});

describe("many callers", () => {
  afterEach(() => void vi.useRealTimers());

  /** Has one caller whose read ends while so many others wait. */
  async function wait(count: number) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const made = createReads();
    const first = made.get();
    const leaving = new AbortController();
    const others = Array.from({ length: count }, () => made.get("a", leaving.signal));
    made.runs[0]?.resolve("old");
    await first;
    await turn();
    return { ...made, others, leaving };
  }

  it("that ask again share the read with those who have waited", async () => {
    const { runs, get, others } = await wait(7);
    expect(runs.length).toBe(1);
    const again = get();
    expect(runs.length).toBe(2);
    runs[1]?.resolve("new");
    expect(await Promise.all([...others, again])).toEqual(Array(8).fill("new"));
    // All of them are expected again. The first to come has no read of its own.
    await turn();
    const third = Array.from({ length: 8 }, (_, index) => {
      expect([index, runs.length]).toEqual([index, 2]);
      return get();
    });
    expect(runs.map(({ kind }) => kind)).toEqual(["alone", "together", "together"]);
    runs[2]?.resolve("newest");
    expect(await Promise.all(third)).toEqual(Array(8).fill("newest"));
  });

  it("that do not come again are waited for no longer than a millisecond", async () => {
    const { runs, reads, others } = await wait(7);
    vi.advanceTimersByTime(1);
    expect(runs.length).toBe(2);
    runs[1]?.resolve("new");
    expect(await Promise.all(others)).toEqual(Array(7).fill("new"));
    await turn();
    vi.advanceTimersByTime(1);
    expect([runs.length, reads.size]).toEqual([2, 0]);
  });

  it("are not waited for if they are few, or nearly all there", async () => {
    expect((await wait(6)).runs.length).toBe(2);
    expect((await wait(19)).runs.length).toBe(2);
    expect((await wait(18)).runs.length).toBe(1);
  });

  it("may leave while the read waits for more of them", async () => {
    const { runs, reads, get, others, leaving } = await wait(7);
    leaving.abort(new Error("left"));
    for (const other of others) await expect(other).rejects.toThrow("left");
    const next = get();
    expect(runs.length).toBe(1);
    vi.advanceTimersByTime(1);
    runs[1]?.resolve("new");
    expect(await next).toBe("new");
    expect([runs[1]?.kind, reads.size]).toEqual(["alone", 0]);
  });
});

describe("a read that hangs", () => {
  afterEach(() => void vi.useRealTimers());

  it("holds up the next one for a moment only", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { reads, runs, get } = createReads();
    const hung = get();
    const others = [get(), get()];
    vi.advanceTimersByTime(99);
    expect(runs.length).toBe(1);
    vi.advanceTimersByTime(1);
    runs[1]?.resolve("2");
    expect(await Promise.all(others)).toEqual(["2", "2"]);
    // A read may begin while the first one still hangs, and nothing is left of it when it ends.
    const later = get();
    runs[2]?.resolve("3");
    expect(await later).toBe("3");
    runs[0]?.resolve("1");
    expect(await hung).toBe("1");
    expect(reads.size).toBe(0);
  });

  it("lets callers join that come when those before have left", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { runs, get } = createReads();
    get();
    const leaving = new AbortController();
    get("a", leaving.signal);
    leaving.abort(new Error("left"));
    vi.advanceTimersByTime(100);
    const next = get();
    vi.advanceTimersByTime(100);
    runs[1]?.resolve("2");
    expect(await next).toBe("2");
  });
});
