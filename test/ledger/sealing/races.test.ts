import { beforeAll, describe, expect, it } from "vitest";
import { type LedgerUnderTest, refusal, startLedger, verifyLedger } from "../support.ts";

const sealers = 20;
const each = 8;

describe("20 sealers through two instances", () => {
  let replicas: LedgerUnderTest[];
  beforeAll(async () => {
    const first = await startLedger();
    replicas = [first, await startLedger({ db: first.db })];
  });
  const of = (index: number) => replicas[index % 2] as LedgerUnderTest;

  it("make one chain without gaps or forks, with every acknowledged receipt", async () => {
    const acknowledged = await Promise.all(
      Array.from({ length: sealers }, async (_, sealer) => {
        const receipts = [];
        for (let number = 0; number < each; number++) {
          const receipt = await of(sealer + number).seal({
            book: `sealer ${sealer}`,
            note: `${sealer}/${number}`,
            session: `2026-02-0${number + 1}`,
          });
          receipts.push(receipt);
        }
        return receipts;
      }),
    );
    const documents = await verifyLedger(replicas[0]?.db as never);
    expect(documents).toHaveLength(1 + sealers * each);
    const receipts = acknowledged.flat();
    expect(new Set(receipts.map(({ seq }) => seq)).size).toBe(sealers * each);
    for (const { seq, document } of receipts) expect(documents[Number(seq) - 1]).toEqual(document);
  });

  it("seal a session once if all of them seal the same one", async () => {
    const before = (await verifyLedger(of(0).db)).length;
    const outcomes = await Promise.all(
      Array.from({ length: sealers }, (_, sealer) =>
        of(sealer)
          .seal({ book: "wanted", session: "2026-02-01", note: `by ${sealer}` })
          .then(
            ({ seq }) => ({ seq }),
            (error) => refusal(Promise.reject(error)),
          ),
      ),
    );
    const won = outcomes.filter((outcome) => "seq" in outcome);
    expect(won).toEqual([{ seq: BigInt(before + 1) }]);
    for (const outcome of outcomes) {
      if (!("seq" in outcome)) expect(outcome).toEqual({ code: "AlreadyExists", error: "exists", field: "session" });
    }
    expect(await verifyLedger(of(0).db)).toHaveLength(before + 1);
  });
});
