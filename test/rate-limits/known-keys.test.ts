// How long a process goes by what it knows of an API key without looking it up: exact to the millisecond.
import { beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Limited, observeKeyLookUps, startLimited } from "../support/limited.ts";

const known = 600_000;
const wrong = 10_000;
let service: Limited;
let replica: Limited;
let key: string;
let lookUps: string[];
beforeAll(async () => {
  const quotas = { credentials: { calls: 1, windowSeconds: 3600 } };
  service = await startLimited(quotas);
  replica = await startLimited(quotas, { db: service.db, clock: service.clock });
});
beforeEach(async () => {
  vi.restoreAllMocks();
  // Everything that was known is forgotten.
  service.clock.pass(24 * 3600);
  ({ key } = await service.register());
  lookUps = observeKeyLookUps();
});

/** Reads with the key. @returns how many times a key was looked up for that */
async function read(at: Limited, path = "feed", shown = key): Promise<number> {
  lookUps.length = 0;
  await at.rest(path, { key: shown });
  return lookUps.length;
}

describe("a good key is not looked up for ten minutes", () => {
  it("after it was issued", async () => {
    service.clock.now += known;
    expect(await read(service)).toBe(0);
    service.clock.now += 1;
    expect(await read(service)).toBe(1);
  });

  it("after a look-up, which a read without one does not prolong", async () => {
    expect(await read(replica)).toBe(1);
    service.clock.now += known;
    expect(await read(replica)).toBe(0);
    service.clock.now += 1;
    expect(await read(replica)).toBe(1);
    service.clock.now += known;
    expect(await read(replica)).toBe(0);
  });

  it("after a call that needs it, which always looks it up", async () => {
    service.clock.now += known;
    expect(await read(service, "agents/me")).toBe(1);
    service.clock.now += known;
    expect(await read(service)).toBe(0);
    service.clock.now += 1;
    expect(await read(service)).toBe(1);
  });
});

it("a wrong key of an address that has sent too many is not looked up again for ten seconds", async () => {
  const guess = `stoa_${"A".repeat(43)}`;
  // One look among the agents, and one among those that are suspended.
  expect(await read(service, "feed", guess)).toBe(2);
  service.clock.now += wrong;
  expect(await read(service, "feed", guess)).toBe(0);
  service.clock.now += 1;
  expect(await read(service, "feed", guess)).toBe(2);
  service.clock.now += wrong;
  expect(await read(service, "feed", guess)).toBe(0);
});
