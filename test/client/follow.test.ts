import { describe, expect, it } from "vitest";
import { createStoaClient, type VerifiedReceipt } from "../../src/client/index.ts";
import { startLedger } from "../ledger/support.ts";
import { otherHash } from "../receipt/chain.ts";
import { freePort } from "../support/free-port.ts";
import { waitUntil } from "../support/wait.ts";
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

describe("receipts that are followed", () => {
  it("arrive exactly once, verified, across a restart of the service", async () => {
    const config = { port: await freePort() };
    const first = await startLedger({ config });
    const { seen, done } = follow(first.url, 4);
    const hashes = [(await first.seal()).hash];
    await waitUntil("the first receipts", () => seen.length === 2);
    await first.app.close();
    const again = await startLedger({ db: first.db, config });
    for (let n = 0; n < 2; n++) hashes.push((await again.seal()).hash);
    await done;
    expect(seen.map(({ link }) => link.seq)).toEqual([1, 2, 3, 4]);
    expect(seen.slice(1).map(({ link }) => link.hash)).toEqual(hashes);
    expect(seen[1]?.document.body).toMatchObject({ type: "session", count: 1 });
  });

  const send = (fake: FakeStoa, receipt: unknown) => {
    for (const follower of fake.followers) follower.write(`${textOf(receipt)}\n`);
  };

  it("end at the first one that was changed, and later ones are not returned", async () => {
    const chain = shownChain(5);
    const fake = await startFake(chain.slice(0, 2));
    const { seen, done } = follow(fake.url, 5);
    await waitUntil("two receipts", () => seen.length === 2);
    send(fake, chain[2]);
    send(fake, { ...chain[3], canonical: chain[3].canonical.replace('"agent":"', '"agent":"x') });
    send(fake, chain[4]);
    await expect(done).rejects.toMatchObject({ name: "DoesNotVerify", seq: 4, fault: "wrong_hash" });
    expect(seen.map(({ link }) => link.seq)).toEqual([1, 2, 3]);
    await waitUntil("the end of the stream", () => fake.followers.size === 0);
  });

  it("end if the service returns with another history", async () => {
    const chain = shownChain(4);
    const fake = await startFake(chain.slice(0, 2));
    const { seen, done } = follow(fake.url, 4);
    await waitUntil("two receipts", () => seen.length === 2);
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
