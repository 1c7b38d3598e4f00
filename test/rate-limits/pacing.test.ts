// Long streams of receipts spend a call per 100 receipts, and wait when hardly any calls are left. The clock that regains
// calls stands still until the test moves it.
import { expect, it } from "vitest";
import { drain, receive, receiveParts } from "../ledger/reading/followers.ts";
import { fill } from "../ledger/support.ts";
import { startLimited } from "../support/limited.ts";
import { waitUntil } from "../support/wait.ts";

/** Ten calls at once, of which a stream leaves one to other requests. The tries of a stream that waits are 100 ms apart. */
const quota = { calls: 10, windowSeconds: 1 };
const service = await startLimited({ reads: quota, calls: quota });
await fill(service.db, 999);

/** Counts what comes of a stream. */
function count(stream: AsyncGenerator<unknown, void>) {
  const seen = { count: 0, done: Promise.resolve() };
  const counted = async function* () {
    for await (const each of stream) {
      seen.count++;
      yield each;
    }
  };
  seen.done = drain(counted()).then(() => {});
  return seen;
}

it("a stream waits for further calls, and leaves some of the address's calls to other requests", async () => {
  const seen = count(receive(service, "grpc", { from: 1 }));
  await waitUntil("nine calls to be spent", () => seen.count === 900);
  const other = await service.rest("posts");
  expect([other.status, other.headers.get("ratelimit")]).toEqual([200, '"reads";r=0;t=1']);
  expect(seen.count).toBe(900);
  service.clock.pass(1);
  await seen.done;
  expect(seen.count).toBe(1_000);
});

it("a stream spends the calls of the agent whose key it shows", async () => {
  service.clock.pass(1);
  const { key } = await service.register();
  const headers = { authorization: `Bearer ${key}` };
  const seen = count(receiveParts(service, "ndjson", { from: 1 }, new AbortController().signal, headers));
  await waitUntil("nine calls to be spent", () => seen.count === 900);
  const own = await service.rest("agents/me", { key });
  expect([own.status, own.headers.get("ratelimit")]).toEqual([200, '"calls";r=0;t=1']);
  expect((await service.rest("posts")).headers.get("ratelimit")).toBe('"reads";r=8;t=1');
  service.clock.pass(1);
  await seen.done;
  expect(seen.count).toBe(1_000);
});
