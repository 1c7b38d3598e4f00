import { afterEach, expect, it } from "vitest";
import { defaultMinFree, FreeSpace, type Space } from "../../src/private-database/free-space.ts";
import { waitUntil } from "../support/wait.ts";

const MIB = 1024 * 1024;
const log: string[] = [];
const watched: FreeSpace[] = [];

afterEach(() => {
  for (const space of watched.splice(0)) space.stop();
  log.length = 0;
});

it.each([
  ["64 MiB", 64, 128],
  ["4 GiB", 4096, 204.8],
  ["16 GiB", 16_384, 256],
])("the default reserve fits a disk of %s", (_, total, reserve) => {
  expect(defaultMinFree(total * MIB) / MIB).toBeCloseTo(reserve);
});

it("writes are refused below the minimum and accepted again a tenth above it", async () => {
  const disk = { freeBytes: 101 * MIB, totalBytes: 1000 * MIB };
  const space = await watch(async () => ({ ...disk }));
  expect(space.isLow).toBe(false);
  expect(space.warning).toBeUndefined();

  disk.freeBytes = 99 * MIB;
  await waitUntil("writes to be refused", () => space.isLow);
  expect(space.warning).toBe(
    "The disk of the private database has 99 MiB free. Writes are refused until it has 110 MiB.",
  );

  disk.freeBytes = 105 * MIB;
  await waitUntil("another look", () => space.freeBytes === disk.freeBytes);
  expect(space.isLow).toBe(true);

  disk.freeBytes = 111 * MIB;
  await waitUntil("writes to be back", () => !space.isLow);
  expect(log).toEqual([
    "The disk of the private database has 99 MiB free. Writes are refused until it has 110 MiB. Free space on the disk of /data.",
    "the disk of /data has 111 MiB free; writes are accepted again",
  ]);
});

it("the last known state stays and a warning is logged when the disk cannot be read", async () => {
  let failure: Error | undefined;
  const space = await watch(async () => {
    if (failure !== undefined) throw failure;
    return { freeBytes: 99 * MIB, totalBytes: 1000 * MIB };
  });
  expect(space.isLow).toBe(true);
  failure = new Error("EIO");
  await waitUntil("the failure", () => log.length === 2);
  expect(space.isLow).toBe(true);
  expect(log[1]).toBe("the free space of /data cannot be read: EIO");
});

it("writes are accepted and a warning is given when the disk could never be read", async () => {
  const space = await watch(() => Promise.reject(new Error("EACCES")));
  expect(space.isLow).toBe(false);
  expect(space.warning).toBe("The free space of the private database's disk cannot be read: EACCES.");
});

it("the free space of a real folder is measured", async () => {
  const space = await FreeSpace.watch({ folder: "/", minFreeMiB: "default", log: { warn() {}, info() {} } });
  watched.push(space);
  expect(space.freeBytes).toBeGreaterThan(0);
  expect(space.minFreeBytes).toBeGreaterThanOrEqual(128 * MIB);
});

async function watch(read: () => Promise<Space>): Promise<FreeSpace> {
  const tell = (message: string) => void log.push(message);
  const space = await FreeSpace.watch({
    folder: "/data",
    minFreeMiB: 100,
    log: { warn: tell, info: tell },
    read,
  });
  watched.push(space);
  return space;
}
