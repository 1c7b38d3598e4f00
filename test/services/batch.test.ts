import { expect, it } from "vitest";
import { Batch, type Patience } from "../../src/services/batch.ts";

const forEver: Patience = { signal: new AbortController().signal, endsAt: Number.POSITIVE_INFINITY };

/** A batch whose look-ups end when the test says so. */
function makeBatch() {
  const running: { keys: string[]; end: PromiseWithResolvers<string[]> }[] = [];
  const batch = new Batch<string>(
    (keys) => {
      const end = Promise.withResolvers<string[]>();
      running.push({ keys, end });
      return end.promise;
    },
    { size: 3, concurrency: 2 },
  );
  const end = (index: number) => running[index]?.end.resolve(running[index].keys.map((key) => key.toUpperCase()));
  return { batch, running, end };
}

it("keys are looked up at once while there is room, and waiting keys together", async () => {
  const { batch, running, end } = makeBatch();
  const found = ["a", "b", "c", "d", "e", "f"].map((key) => batch.find(key, forEver));
  expect(running.map(({ keys }) => keys)).toEqual([["a"], ["b"]]);
  end(0);
  expect(await found[0]).toBe("A");
  expect(running.map(({ keys }) => keys)).toEqual([["a"], ["b"], ["c", "d", "e"]]);
  end(1);
  await found[1];
  expect(running.at(-1)?.keys).toEqual(["f"]);
  end(2);
  end(3);
  expect(await Promise.all(found)).toEqual(["A", "B", "C", "D", "E", "F"]);
  void batch.find("g", forEver);
  expect(running).toHaveLength(5);
});

it("a key is looked up once for all callers that wait, and again for callers that come after the lookup began", async () => {
  const { batch, running, end } = makeBatch();
  void batch.find("x", forEver);
  void batch.find("y", forEver);
  const first = [batch.find("a", forEver), batch.find("a", forEver)];
  end(0);
  await Promise.resolve();
  end(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(running.map(({ keys }) => keys)).toEqual([["x"], ["y"], ["a"]]);
  const later = batch.find("a", forEver);
  expect(running.at(-1)?.keys).toEqual(["a"]);
  expect(running).toHaveLength(4);
  end(2);
  end(3);
  expect(await Promise.all([...first, later])).toEqual(["A", "A", "A"]);
});

it("callers receive the failure of their lookup, and later lookups work", async () => {
  const { batch, running, end } = makeBatch();
  const failed = batch.find("a", forEver);
  running[0]?.end.reject(new Error("away"));
  await expect(failed).rejects.toThrow("away");
  const next = batch.find("a", forEver);
  end(1);
  expect(await next).toBe("A");
});

it("callers that wait while a lookup fails are served by the next one", async () => {
  const { batch, running, end } = makeBatch();
  const found = ["a", "b", "c"].map((key) => batch.find(key, forEver));
  running[0]?.end.reject(new Error("hung"));
  await expect(found[0]).rejects.toThrow("hung");
  expect(running.map(({ keys }) => keys)).toEqual([["a"], ["b"], ["c"]]);
  end(1);
  end(2);
  expect(await Promise.all(found.slice(1))).toEqual(["B", "C"]);
});

it("a caller that gives up fails alone, whether its lookup runs or not", async () => {
  const { batch, running, end } = makeBatch();
  const leaving = new AbortController();
  const patient = ["a", "b", "c"].map((key) => batch.find(key, forEver));
  const left = ["a", "b", "c", "d"].map((key) => batch.find(key, { ...forEver, signal: leaving.signal }));
  leaving.abort(new Error("gone"));
  for (const each of left) await expect(each).rejects.toThrow("gone");
  await expect(batch.find("e", { ...forEver, signal: leaving.signal })).rejects.toThrow("gone");
  end(0);
  end(1);
  await Promise.all(patient.slice(0, 2));
  // Nobody waits for "d" any more.
  expect(running.map(({ keys }) => keys)).toEqual([["a"], ["b"], ["c"]]);
  end(2);
  expect(await Promise.all(patient)).toEqual(["A", "B", "C"]);
});

it("a caller waits until its time is over, and not for longer", async () => {
  const { batch, end } = makeBatch();
  const patient = ["a", "b", "c"].map((key) => batch.find(key, forEver));
  const endsAt = performance.now() + 1;
  const late = ["a", "c"].map((key) => batch.find(key, { ...forEver, endsAt }));
  for (const each of late) await expect(each).rejects.toMatchObject({ code: "unavailable" });
  expect(performance.now()).toBeGreaterThanOrEqual(endsAt);
  for (const index of [0, 1]) end(index);
  await Promise.all(patient.slice(0, 2));
  end(2);
  expect(await patient[2]).toBe("C");
});

it("the number of waiting callers is bounded", async () => {
  const { batch } = makeBatch();
  for (let i = 0; i < 10_000; i++) void batch.find(`key ${i}`, forEver);
  await expect(batch.find("one too many", forEver)).rejects.toMatchObject({ code: "unavailable" });
});
