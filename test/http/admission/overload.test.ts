import { afterEach, expect, it, vi } from "vitest";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { MemoryProbe, type MemoryUse } from "../../../src/http/admission/memory.ts";
import { Overload } from "../../../src/http/admission/overload.ts";
import { collectGarbage } from "../../support/garbage.ts";
import { waitUntil } from "../../support/wait.ts";
import { kinds, openStream, startStreaming } from "../streams/support.ts";

const MiB = 1024 * 1024;
const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const each of cleanUp.splice(0)) each();
});

/** An overload manager whose looks the test makes. */
function create() {
  const use: MemoryUse = { heapLive: 0, heapLimit: 100 * MiB, resident: 0, external: 0 };
  const messages: string[] = [];
  const note = (_: object, message: string) => void messages.push(message);
  let ended = 0;
  const overload = new Overload({
    limits: { heapShare: 0.8, residentBytes: 200 * MiB },
    log: { info: note, warn: note },
    onLasting: () => {
      ended += 1;
    },
    probe: { read: () => ({ ...use }), close() {} },
  });
  cleanUp.push(() => overload.stop());
  const look = (changes: Partial<MemoryUse>) => {
    Object.assign(use, changes);
    overload.look();
    return overload.isActive;
  };
  return { overload, look, messages, ended: () => ended };
}

it("overload begins when the reachable heap reaches its share, and ends well below it", () => {
  const { overload, look, messages } = create();
  expect(look({ heapLive: 79 * MiB })).toBe(false);
  expect(() => overload.check()).not.toThrow();
  expect(look({ heapLive: 80 * MiB })).toBe(true);
  expect(() => overload.check()).toThrow(expect.objectContaining({ code: "unavailable", retryAfterSeconds: 5 }));
  expect(look({ heapLive: 73 * MiB })).toBe(true);
  expect(look({ heapLive: 71 * MiB })).toBe(false);
  expect(look({ heapLive: 79 * MiB })).toBe(false);
  expect(messages).toEqual(["short of memory: new work is refused", "no longer short of memory"]);
});

it("overload begins when resident memory reaches its limit, without counting freed memory that stays resident", () => {
  const { look } = create();
  expect(look({ resident: 250 * MiB, heapLive: 40 * MiB, external: 50 * MiB })).toBe(false);
  expect(look({ external: 70 * MiB })).toBe(true);
  expect(look({ resident: 185 * MiB })).toBe(true);
  expect(look({ resident: 175 * MiB })).toBe(false);
});

it("overload ends streams after two seconds", () => {
  const { look, ended } = create();
  for (let count = 0; count < 8; count++) look({ heapLive: 90 * MiB });
  expect(ended()).toBe(0);
  look({});
  look({});
  expect(ended()).toBe(2);
  look({ heapLive: 0 });
  expect(ended()).toBe(2);
});

it("uncollected garbage does not count as overload", async () => {
  const probe = new MemoryProbe();
  cleanUp.push(() => probe.close());
  let garbage: unknown[] | undefined = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  expect(probe.read().heapLive).toBe(0);
  collectGarbage();
  await waitUntil("the collection to be seen", () => probe.read().heapLive > 0);
  const before = probe.read().heapLive;
  expect(garbage.length).toBe(1_000_000);
  garbage = undefined;
  // Unreachable, but not yet collected: nothing is known of it.
  expect(probe.read().heapLive).toBeGreaterThan(before - 5 * MiB);
  collectGarbage();
  await waitUntil("the collection to be seen", () => probe.read().heapLive < before - 20 * MiB);
});

/** A service whose memory is as the test says; `become` resolves when it is noticed. */
async function startWithMemory() {
  const use: MemoryUse = { heapLive: 0, heapLimit: 100 * MiB, resident: 0, external: 0 };
  const service = await startStreaming(
    {},
    {
      config: { overload: { heapShare: 0.8, residentBytes: undefined } },
      overrides: { memory: { read: () => ({ ...use }), close() {} } },
    },
  );
  const become = async (isShort: boolean) => {
    use.heapLive = isShort ? 90 * MiB : 0;
    const message = isShort ? "short of memory: new work is refused" : "no longer short of memory";
    await waitUntil(message, () => service.log.some(({ msg }) => msg === message));
  };
  return { ...service, become };
}

it("calls and pages are refused in their own formats, and health checks are still answered", async () => {
  const service = await startWithMemory();
  await service.become(true);
  const refusal = {
    ok: false,
    error: "unavailable",
    message: "The service is short of memory; try again later.",
    retry_after_seconds: 5,
  };
  for (const path of ["posts", "house/receipts/1", "nothing", "agents/me"]) {
    const { status, headers, body } = await service.rest(path);
    expect({ path, status, body, retry: headers.get("retry-after") }).toEqual({
      path,
      status: 503,
      body: refusal,
      retry: "5",
    });
  }
  const page = await fetch(service.url, { headers: { accept: "text/html" } });
  expect(page.status).toBe(503);
  expect(await page.text()).toContain("short of memory");
  for (const path of ["/healthz", "/readyz"]) expect((await service.rest(path)).status).toBe(200);
  for (const protocol of ["grpc", "grpc-web", "connect"] as const) {
    expect((await service.connect(Health, protocol).check({})).status).toBe(1);
  }
  expect(await (await fetch(service.app.metricsUrl as string)).text()).toMatch(/^stoa_overload 1$/m);
  await service.become(false);
  expect((await service.rest("posts")).status).toBe(200);
});

it.each(kinds)("overload refuses another stream: %s", async (kind) => {
  const service = await startWithMemory();
  await service.become(true);
  await expect(openStream(service, kind)).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
  expect(await service.open()).toBe(0);
});

it("overload ends open streams with a time to reconnect", async () => {
  const service = await startWithMemory();
  const streams = await Promise.all(kinds.slice(0, 8).map((kind) => openStream(service, kind)));
  await service.become(true);
  for (const { ended } of streams) {
    const failure = await ended;
    expect(failure).toMatchObject({
      code: "unavailable",
      message: "The service is short of memory. Connect again, and start from the next seq or id.",
    });
    expect(failure?.retryAfterSeconds).toBeGreaterThanOrEqual(5);
  }
  await service.untilOpen(0);
});

it("the resident memory is read without opening a file, of which there may be none left", () => {
  const probe = new MemoryProbe();
  cleanUp.push(() => probe.close());
  const real = process.memoryUsage.rss();
  const rss = vi.spyOn(process.memoryUsage, "rss").mockImplementation(() => {
    throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  });
  cleanUp.push(() => rss.mockRestore());
  const { resident } = probe.read();
  expect(resident).toBeGreaterThan(real / 2);
  expect(resident).toBeLessThan(real * 2);
});
