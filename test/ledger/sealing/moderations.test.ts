// Daily receipts seal the record of moderation: each act in exactly one, whatever replicas do at midnight.
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { describe, expect, it } from "vitest";
import { type Moderated, startModerated } from "../../support/moderation.ts";
import { waitUntil } from "../../support/wait.ts";
import { type Document, TestClock, verifyLedger } from "../support.ts";

/** All acts as an outsider sees them, oldest first. */
async function record(service: Moderated): Promise<{ id: number }[]> {
  const acts: { id: number }[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { body } = await service.rest(
      `moderations?limit=7${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    acts.push(...body.moderations);
    cursor = body.next_cursor;
  }
  return acts.reverse();
}

/** Recomputes the evidence of every daily receipt from the public record, with nothing of ours. */
async function checkEvidence(service: Moderated): Promise<number[]> {
  const acts = await record(service);
  expect(acts.map(({ id }) => id)).toEqual(acts.map((_, index) => index + 1));
  const documents = await verifyLedger(service.db);
  const counts: number[] = [];
  let sealed = 0;
  for (const { body, evidence } of documents.filter(
    (each: Document) => each.body.type === "daily" && each.evidence.moderations,
  )) {
    const { count, hash } = evidence.moderations;
    const covered = acts.slice(sealed, sealed + count);
    expect(covered, body.date).toHaveLength(count);
    expect(
      createHash("sha256")
        .update(canonicalize(covered) as string)
        .digest("hex"),
      body.date,
    ).toBe(hash);
    sealed += count;
    counts.push(count);
  }
  return counts;
}

const sealedDay = (service: Moderated, date: string) =>
  waitUntil(`the daily receipt of ${date}`, async () => {
    return (await service.db.rows("SELECT seq FROM ledger_days WHERE date = ?", [date])).length === 1;
  });

describe("the evidence of daily receipts", () => {
  it("covers each act once while acts race the seal on two replicas", async () => {
    const clock = new TestClock("2026-03-01T23:59:00Z");
    const service = await startModerated({ overrides: { now: clock.now } });
    const other = await startModerated({ overrides: { now: clock.now }, db: service.db });
    const replicas = [service, other];
    const author = await service.register();
    const posts = await Promise.all(Array.from({ length: 6 }, () => service.post(author)));
    let done = false;
    let acts = 0;
    const acting = Promise.all(
      posts.map(async (post, turn) => {
        for (let round = 0; !done; round++) {
          const { operator } = replicas[(turn + round) % 2] as Moderated;
          await (round % 2 === 0 ? operator.lock({ postId: BigInt(post) }) : operator.unlock({ postId: BigInt(post) }));
          acts++;
        }
      }),
    );
    for (const [now, date] of [
      ["2026-03-02T00:00:01Z", "2026-03-01"],
      ["2026-03-03T00:00:01Z", "2026-03-02"],
      ["2026-03-04T00:00:01Z", "2026-03-03"],
    ] as const) {
      // Of the acts that are counted next, some may have been there before the last seal: one of each post.
      const before = acts;
      await waitUntil("further acts", () => acts > before + 2 * posts.length);
      clock.set(now);
      await sealedDay(service, date);
    }
    done = true;
    await acting;
    const counts = await checkEvidence(service);
    expect(counts).toHaveLength(3);
    for (const count of counts) expect(count).toBeGreaterThan(posts.length);
    // Those after the last seal are in the next one.
    clock.set("2026-03-05T00:00:01Z");
    await sealedDay(service, "2026-03-04");
    const all = await checkEvidence(service);
    expect(all.reduce((sum, count) => sum + count)).toBe(await service.recorded());
    // A day without acts seals the empty list.
    clock.set("2026-03-06T00:00:01Z");
    await sealedDay(service, "2026-03-05");
    expect((await checkEvidence(service)).at(-1)).toBe(0);
    expect((await service.rest("/house/verify?from=0")).body.verify_ok).toBe(true);
  });

  it("of a version before is missing, and the next daily receipt covers its acts", async () => {
    const clock = new TestClock("2026-03-01T12:00:00Z");
    const service = await startModerated({ overrides: { now: clock.now } });
    const post = BigInt(await service.post(await service.register()));
    await service.operator.lock({ postId: post });
    // As that version seals: with its evidence, and without the head of the record.
    const [head] = await service.db.rows<{ seq: number; hash: string }>("SELECT seq, hash FROM ledger_head");
    const last = Number(head?.seq);
    const [first] = await service.db.rows<{ canonical: Buffer }>("SELECT canonical FROM receipts WHERE seq = 1");
    const genesis = JSON.parse(first?.canonical.toString() as string);
    const document = {
      ...genesis,
      seq: last + 1,
      prev_hash: head?.hash,
      city_day: 2,
      ts: "2026-03-02T00:00:01.000Z",
      evidence: { note: "Sealed by the service's clock at the end of the day.", source: "/house/verify?from=0" },
      body: { type: "daily", count: last, date: "2026-03-01", head: head?.hash, head_seq: last, verify_ok: true },
    };
    const canonical = canonicalize(document) as string;
    const hash = createHash("sha256").update(canonical).digest("hex");
    await service.db.rows("INSERT INTO ledger_days (date, seq) VALUES ('2026-03-01', ?)", [last + 1]);
    await service.db.rows("INSERT INTO receipts (seq, hash, prev_hash, canonical) VALUES (?, ?, ?, ?)", [
      last + 1,
      hash,
      head?.hash,
      Buffer.from(canonical),
    ]);
    await service.db.rows("UPDATE ledger_head SET seq = ?, hash = ?, ts = ?", [
      last + 1,
      hash,
      Date.parse(document.ts),
    ]);
    await service.operator.unlock({ postId: post });
    clock.set("2026-03-03T00:00:02Z");
    await sealedDay(service, "2026-03-02");
    expect(await checkEvidence(service)).toEqual([2]);
    expect((await service.rest("/house/verify?from=0")).body).toMatchObject({ verify_ok: true, count: 3 });
  });
});
