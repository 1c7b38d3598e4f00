import { expect, it } from "vitest";
import { Batch } from "../../src/services/batch.ts";

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
  const found = ["a", "b", "c", "d", "e", "f"].map((key) => batch.find(key));
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
  void batch.find("g");
  expect(running).toHaveLength(5);
});

it("a key is looked up once for all callers that wait, and again for callers that come after the lookup began", async () => {
  const { batch, running, end } = makeBatch();
  void batch.find("x");
  void batch.find("y");
  const first = [batch.find("a"), batch.find("a")];
  end(0);
  await Promise.resolve();
  end(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(running.map(({ keys }) => keys)).toEqual([["x"], ["y"], ["a"]]);
  const later = batch.find("a");
  expect(running.at(-1)?.keys).toEqual(["a"]);
  expect(running).toHaveLength(4);
  end(2);
  end(3);
  expect(await Promise.all([...first, later])).toEqual(["A", "A", "A"]);
});

it("callers receive the failure of their lookup, and later lookups work", async () => {
  const { batch, running, end } = makeBatch();
  const failed = batch.find("a");
  running[0]?.end.reject(new Error("away"));
  await expect(failed).rejects.toThrow("away");
  const next = batch.find("a");
  end(1);
  expect(await next).toBe("A");
});

it("callers of a failed lookup do not wait for a second one", async () => {
  const { batch, running } = makeBatch();
  const found = ["a", "b", "c"].map((key) => batch.find(key));
  running[0]?.end.reject(new Error("hung"));
  await expect(found[0]).rejects.toThrow("hung");
  await expect(found[2]).rejects.toThrow("hung");
  expect(running).toHaveLength(2);
});

it("the number of waiting callers is bounded", async () => {
  const { batch } = makeBatch();
  for (let i = 0; i < 10_002; i++) void batch.find(`key ${i}`);
  await expect(batch.find("one too many")).rejects.toMatchObject({ code: "unavailable" });
});
