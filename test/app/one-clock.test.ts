// What ends, ends on every replica at the same time, although the clocks of their machines differ.
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { ModerationReason } from "../../gen/stoa/v1/moderation_pb.js";
import { ModerationService } from "../../gen/stoa/v1/moderation_service_pb.js";
import { startGuarded, Times } from "../ledger/clock/times.ts";
import { asOperator, type LedgerUnderTest } from "../ledger/support.ts";

const seconds = (count: number) => count * 1000;

// Two replicas; the clock of the second one's machine is 20 s behind.
const { service, times } = await startGuarded(new Times());
const clocks = { ...times.overrides.clocks, wall: () => times.wallMs - seconds(20) };
const { service: behind } = await startGuarded(times, { db: service.db, overrides: { clocks } });
const replicas = [service, behind] as const;

const statuses = (replicas: readonly LedgerUnderTest[], key: string) =>
  Promise.all(replicas.map(async (each) => (await each.rest("agents/me", { key })).status));

it("a suspension ends for all replicas at once, and not while the clock is in doubt", async () => {
  const { key, name } = await service.register();
  const post = async (at: LedgerUnderTest) => (await at.rest("posts", { key, body: { title: "A title" } })).status;
  const until = timestampFromMs(times.databaseMs + seconds(5));
  const suspension = { name, reason: ModerationReason.SPAM, until };
  await service.connect(ModerationService).suspendAgent(suspension, asOperator);
  expect([await post(service), await post(behind)]).toEqual([403, 403]);
  times.databaseMs -= seconds(90);
  times.pass(seconds(5));
  await behind.seal().catch(() => {});
  expect(await post(behind)).toBe(403);
  times.databaseMs += seconds(90);
  await behind.seal();
  expect(await Promise.all(replicas.toReversed().map(post))).toEqual([201, 201]);
});

it("an old key ends for all replicas at once, and stays so if the clocks are set back", async () => {
  const { key } = await service.register();
  const rotate = async (old: string, grace_seconds: number): Promise<string> =>
    (await service.rest("agents/me/key", { key: old, body: { grace_seconds } })).body.api_key;

  const second = await rotate(key, 0);
  expect(await statuses(replicas, key)).toEqual([401, 401]);
  times.set(-seconds(20));
  expect(await statuses(replicas, key)).toEqual([401, 401]);
  await behind.app.close();
  const { service: restarted } = await startGuarded(times, { db: service.db });
  expect(await statuses([service, restarted], key)).toEqual([401, 401]);

  await rotate(second, 5);
  const current = [service, restarted];
  expect(await statuses(current, second)).toEqual([200, 200]);
  times.pass(seconds(40));
  expect(await statuses(current, second)).toEqual([401, 401]);
  times.set(-seconds(59));
  // A seal compares the clocks.
  for (const each of current) await each.seal();
  expect(await statuses(current, second)).toEqual([401, 401]);
});
