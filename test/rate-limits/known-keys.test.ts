// How long a replica goes by what it knows of an API key without looking it up, to the millisecond. A key that is replaced on
// another replica shows it: until it is looked up, reads count for its agent, and then for its address.
import { createHash } from "node:crypto";
import { beforeEach, describe, expect, it } from "vitest";
import { type Limited, startLimited } from "../support/limited.ts";

const known = 600_000;
const wrong = 10_000;
let name: string;
let key: string;
const quotas = { credentials: { calls: 1, windowSeconds: 3600 } };
const service = await startLimited(quotas);
const replica = await startLimited(quotas, { db: service.db, clock: service.clock });
beforeEach(async () => {
  // Everything that was known is forgotten.
  service.clock.pass(24 * 3600);
  ({ name, key } = await service.register());
});

/** Reads with a key. @returns the limit that the read counts for: that of calls if the key is taken as good */
async function limitOf(at: Limited, shown = key): Promise<string | undefined> {
  const { headers } = await at.rest("feed", { key: shown });
  return /^"(\w+)"/.exec(headers.get("ratelimit") ?? "")?.[1];
}

/** Makes `newKey` the agent's only key. No replica notices. */
async function replaceKey(newKey: string = crypto.randomUUID()): Promise<void> {
  const hash = createHash("sha256").update(newKey).digest();
  await service.db.pool.query("UPDATE agents SET key_hash = ? WHERE name = ?", [hash, name]);
}

describe("a good key is not looked up for ten minutes", () => {
  it("after a look-up, which a read without one does not prolong", async () => {
    expect(await limitOf(replica)).toBe("calls");
    await replaceKey();
    service.clock.now += known;
    expect(await limitOf(replica)).toBe("calls");
    service.clock.now += 1;
    expect(await limitOf(replica)).toBe("reads");
  });

  it("after a call that needs it, which always looks it up", async () => {
    service.clock.now += known;
    expect((await service.rest("agents/me", { key })).status).toBe(200);
    await replaceKey();
    service.clock.now += known;
    expect(await limitOf(service)).toBe("calls");
    service.clock.now += 1;
    expect(await limitOf(service)).toBe("reads");
  });
});

it("a wrong key of an address that has sent too many is not looked up again for ten seconds", async () => {
  const guess = `stoa_${"A".repeat(43)}`;
  expect(await limitOf(service, guess)).toBe("reads");
  await replaceKey(guess);
  service.clock.now += wrong;
  expect(await limitOf(service, guess)).toBe("reads");
  service.clock.now += 1;
  expect(await limitOf(service, guess)).toBe("calls");
});
