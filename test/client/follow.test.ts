import { describe, expect, it } from "vitest";
import { createStoaClient, type VerifiedReceipt } from "../../src/client/index.ts";
import { defaultStreamLimits } from "../../src/rate-limits/stream-limits.ts";
import { startLedger } from "../ledger/support.ts";
import { otherHash } from "../receipt/chain.ts";
import { type FakeStoa, shownChain, startFake, textOf } from "./fake-stoa.ts";

/** Reads receipts up to a seq, in the background. */
function follow(url: string, until: number) {
  const seen: VerifiedReceipt[] = [];
  const done = (async () => {
    for await (const receipt of createStoaClient(url).followReceipts()) {
      seen.push(receipt);
      if (receipt.link.seq === until) return;
    }
  })();
  return { seen, done };
}

/** A tolerance, because the machine may be busy. */
const patient = { timeout: 20_000 };

describe("receipts that are followed", () => {
  it("arrive exactly once, verified, across restarts of the service", async () => {
    const first = await startLedger();
    const replica = await startLedger({ db: first.db });
    const port = Number(new URL(first.url).port);
    const { seen, done } = follow(first.url, 7);
    const hashes: string[] = [];
    let service = first;
    for (let restart = 0; restart < 2; restart++) {
      hashes.push((await service.seal()).hash);
      await expect.poll(() => seen.length, patient).toBe(hashes.length + 1);
      await service.app.close();
      for (let n = 0; n < 2; n++) hashes.push((await replica.seal()).hash);
      service = await startLedger({ db: first.db, config: { port } });
      await expect.poll(() => seen.length, patient).toBe(hashes.length + 1);
    }
    await done;
    expect(seen.map(({ link }) => link.seq)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(seen.slice(1).map(({ link }) => link.hash)).toEqual(hashes);
    expect(seen[1]?.document.body).toMatchObject({ type: "session", count: 1 });
  });

  it("arrive exactly once if the service limits the age of streams, and nothing is reported", async () => {
    const service = await startLedger({ config: { streams: { ...defaultStreamLimits, maxMs: 400 } } });
    const seqs: number[] = [];
    const onInterruption = (reason: string) => expect.fail(reason);
    const streamsEnded = () =>
      service.log.filter(({ msg, route }) => msg === "request" && /stream$/.test(String(route)));
    for await (const { link } of createStoaClient(service.url).followReceipts({ onInterruption })) {
      seqs.push(link.seq);
      if (link.seq === 4) break;
      await expect.poll(() => streamsEnded().length, patient).toBeGreaterThanOrEqual(link.seq);
      await service.seal();
    }
    expect(seqs).toEqual([1, 2, 3, 4]);
  });

  const send = (fake: FakeStoa, receipt: unknown) => {
    for (const follower of fake.followers) follower.write(`${textOf(receipt)}\n`);
  };

  it("end at the first one that was changed, and later ones are not returned", async () => {
    const chain = shownChain(5);
    const fake = await startFake(chain.slice(0, 2));
    const { seen, done } = follow(fake.url, 5);
    await expect.poll(() => seen.length, patient).toBe(2);
    send(fake, chain[2]);
    send(fake, { ...chain[3], canonical: chain[3].canonical.replace('"agent":"', '"agent":"x') });
    send(fake, chain[4]);
    await expect(done).rejects.toMatchObject({ name: "DoesNotVerify", seq: 4, fault: "wrong_hash" });
    expect(seen.map(({ link }) => link.seq)).toEqual([1, 2, 3]);
    await expect.poll(() => fake.followers.size, patient).toBe(0);
  });

  it("end if the service returns with another history", async () => {
    const chain = shownChain(4);
    const fake = await startFake(chain.slice(0, 2));
    const { seen, done } = follow(fake.url, 4);
    await expect.poll(() => seen.length, patient).toBe(2);
    fake.receipts = [...chain.slice(0, 2), { ...chain[2], prev_hash: otherHash }];
    fake.cut();
    await expect(done).rejects.toMatchObject({ name: "DoesNotVerify", seq: 3, fault: "wrong_prev_hash" });
  });

  it("begin at the requested seq, and are compared with the remembered receipt", async () => {
    const chain = shownChain(4);
    const fake = await startFake(chain);
    const stoa = createStoaClient(fake.url);
    const good = { seq: 2, hash: chain[1].hash };
    const { value } = await stoa.followReceipts({ from: 3, known: good }).next();
    expect(value).toMatchObject({ link: { seq: 3, hash: chain[2].hash } });
    const changed = stoa.followReceipts({ from: 3, known: { ...good, hash: otherHash } }).next();
    await expect(changed).rejects.toMatchObject({ name: "DoesNotVerify", seq: 2, fault: "history_changed" });
  });
});
