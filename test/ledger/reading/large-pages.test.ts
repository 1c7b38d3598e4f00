import { beforeAll, describe, expect, it } from "vitest";
import { fill, type LedgerUnderTest, ledgerClient, startLedger } from "../support.ts";

const maxReplyBytes = 4 * 1024 * 1024;
/** The largest possible evidence, and the evidence that becomes largest when it is escaped again. */
const backslashes = "\\".repeat(32_000);

let service: LedgerUnderTest;
beforeAll(async () => {
  service = await startLedger();
  await fill(service.db, 70, 64_000);
  for (let count = 0; count < 30; count++) await service.seal({ evidence: { backslashes } });
}, 60_000);

describe("a list of large receipts", () => {
  it("has pages of 4 MiB at most, and each receipt once", async () => {
    const seen: number[] = [];
    let pages = 0;
    for (let from: number | null = 1; from !== null; pages++) {
      const response = await fetch(`${service.url}/api/v1/house/receipts?from=${from}&limit=100`);
      const text = await response.text();
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxReplyBytes);
      const body = JSON.parse(text);
      expect(body.receipts.length).toBeGreaterThan(0);
      seen.push(...body.receipts.map(({ seq }: { seq: number }) => seq));
      from = body.next_from;
    }
    expect(seen).toEqual(Array.from({ length: 101 }, (_, index) => index + 1));
    expect(pages).toBeLessThan(10);
  });

  it("is the same over gRPC, whose default limit is 4 MiB", async () => {
    const seen: bigint[] = [];
    for (let from: bigint | undefined = 1n; from !== undefined; ) {
      const page: { receipts: { seq: bigint }[]; nextFrom?: bigint | undefined } = await ledgerClient(
        service,
        "grpc",
      ).listReceipts({
        from,
        limit: 100n,
      });
      seen.push(...page.receipts.map(({ seq }) => seq));
      from = page.nextFrom;
    }
    expect(seen).toHaveLength(101);
  });

  it("is shown on pages, the newest receipts first", async () => {
    const seen: number[] = [];
    for (let path: string | undefined = "/house/receipts"; path !== undefined; ) {
      const page = await (await fetch(service.url + path)).text();
      seen.push(...[...page.matchAll(/aria-label="Receipt (\d+)"/g)].map(([, seq]) => Number(seq)));
      path = /class="next" href="([^"]+)"/.exec(page)?.[1];
    }
    expect(seen).toEqual(Array.from({ length: 101 }, (_, index) => 101 - index));
  });

  it("is streamed completely", async () => {
    const text = await (await fetch(`${service.url}/api/v1/house/receipts/stream`)).text();
    const seqs = text
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line).seq);
    expect(seqs).toEqual(Array.from({ length: 101 }, (_, index) => index + 1));
  });
});
