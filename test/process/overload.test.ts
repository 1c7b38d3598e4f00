import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { Health } from "../../gen/grpc/health/v1/health_pb.js";
import { MemoryProbe, type MemoryUse } from "../../src/process/memory.ts";
import type { OverloadLimits } from "../../src/process/overload.ts";
import { kinds, openStream, startStreaming } from "../http/streams/support.ts";
import { collectGarbage } from "../support/garbage.ts";
import { waitUntil } from "../support/wait.ts";

const MiB = 1024 * 1024;
/** A service whose memory is as the test says. */
async function startWithMemory(limits: OverloadLimits) {
  const use: MemoryUse = { heapLive: 0, heapLimit: 100 * MiB, resident: 0, external: 0 };
  let looks = 0;
  const read = () => {
    looks += 1;
    return { ...use };
  };
  const service = await startStreaming(
    {},
    { config: { overload: limits }, overrides: { memory: { read, close() {} } } },
  );
  return {
    ...service,
    /** Changes the use of memory. @returns whether the service refuses work once it has looked, which it does once */
    async become(changes: Partial<MemoryUse>): Promise<boolean> {
      Object.assign(use, changes);
      const before = looks;
      look();
      expect(looks).toBe(before + 1);
      return (await service.rest("posts")).status === 503;
    },
    messages: () => service.log.map(({ msg }) => String(msg)).filter((msg) => msg.includes("short of memory")),
  };
}

/** Every service looks at its memory once, as it does every quarter of a second. */
const look = () => void vi.advanceTimersByTime(250);

// The services look when a test says so.
vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
const service = await startWithMemory({ heapShare: 0.8, residentBytes: 200 * MiB });
afterEach(() => service.become({ heapLive: 0, resident: 0, external: 0 }));

it("overload begins when the reachable heap reaches its share, and ends well below it", async () => {
  const before = service.messages().length;
  expect(await service.become({ heapLive: 79 * MiB })).toBe(false);
  expect(await service.become({ heapLive: 80 * MiB })).toBe(true);
  expect(await service.become({ heapLive: 73 * MiB })).toBe(true);
  expect(await service.become({ heapLive: 71 * MiB })).toBe(false);
  const messages = ["short of memory: new work is refused", "no longer short of memory"];
  expect(service.messages().slice(before)).toEqual(messages);
});

it("overload begins when resident memory reaches its limit, without counting freed memory that stays resident", async () => {
  expect(await service.become({ resident: 250 * MiB, heapLive: 40 * MiB, external: 50 * MiB })).toBe(false);
  expect(await service.become({ external: 70 * MiB })).toBe(true);
  expect(await service.become({ resident: 185 * MiB })).toBe(true);
  expect(await service.become({ resident: 175 * MiB })).toBe(false);
});

it("calls and pages are refused in their own formats, and health checks are still answered", async () => {
  expect(await service.become({ heapLive: 90 * MiB })).toBe(true);
  const refusal = {
    ok: false,
    error: "unavailable",
    message: "The service is short of memory; try again later.",
    retry_after_seconds: 5,
  };
  for (const path of ["posts", "nothing", "agents/me"]) {
    const { status, headers, body } = await service.rest(path);
    expect([path, status, body, headers.get("retry-after")]).toEqual([path, 503, refusal, "5"]);
  }
  const page = await fetch(service.url, { headers: { accept: "text/html" } });
  expect(page.status).toBe(503);
  expect(await page.text()).toContain("short of memory");
  for (const path of ["/healthz", "/readyz"]) expect((await service.rest(path)).status).toBe(200);
  for (const protocol of ["grpc", "grpc-web", "connect"] as const) {
    expect((await service.connect(Health, protocol).check({})).status).toBe(1);
  }
  expect(await (await fetch(service.app.metricsUrl as string)).text()).toMatch(/^stoa_overload 1$/m);
});

it("overload refuses further streams of all kinds", async () => {
  expect(await service.become({ heapLive: 90 * MiB })).toBe(true);
  for (const kind of kinds) {
    await expect(openStream(service, kind), kind).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 5 });
  }
  expect(await service.open()).toBe(0);
});

it("overload that lasts for two seconds ends open streams with a time to reconnect", async () => {
  const streams = await Promise.all(kinds.slice(0, 8).map((kind) => openStream(service, kind)));
  // Four looks are a second. The ninth comes after two seconds of overload.
  for (let looks = 1; looks <= 8; looks++) expect(await service.become({ heapLive: 90 * MiB })).toBe(true);
  expect(await service.open()).toBe(streams.length);
  look();
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

it("the resident memory is read without opening a file, of which there may be none left", async () => {
  const rss = vi.spyOn(process.memoryUsage, "rss").mockImplementation(() => {
    throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
  });
  onTestFinished(() => rss.mockRestore());
  const limits = { heapShare: undefined, residentBytes: 10 * MiB };
  const { log } = await startStreaming({}, { config: { overload: limits } });
  look();
  const noted = log.find(({ msg }) => msg === "short of memory: new work is refused");
  // A collection may free half of the memory at any moment, so only its bounds are known.
  expect(noted?.residentMiB).toBeGreaterThan(32);
  expect(noted?.residentMiB).toBeLessThan((process.resourceUsage().maxRSS / 1024) * 1.1);
});

it("uncollected garbage does not count as overload", async () => {
  const probe = new MemoryProbe();
  onTestFinished(() => probe.close());
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
