import { expect, it } from "vitest";
import { fill, startLedger } from "../support.ts";

const maxReplyBytes = 4 * 1024 * 1024;
/** The evidence that becomes largest when it is escaped again; that of the others is as large as evidence may be. */
const backslashes = "\\".repeat(32_000);
const seqs = Array.from({ length: 61 }, (_, index) => index + 1);

const service = await startLedger();
await fill(service.db, 40, 64_000);
for (let count = 0; count < 20; count++) await service.seal({ evidence: { backslashes } });

it("a list of large receipts has pages of 4 MiB at most, and each receipt once", async () => {
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
  expect(seen).toEqual(seqs);
  expect(pages).toBeGreaterThan(1);
  expect(pages).toBeLessThan(7);
});

it("the newest of them are shown first on pages", async () => {
  const seen: number[] = [];
  for (let path: string | undefined = "/house/receipts"; path !== undefined; ) {
    const page = await (await fetch(service.url + path)).text();
    seen.push(...[...page.matchAll(/aria-label="Receipt (\d+)"/g)].map(([, seq]) => Number(seq)));
    path = /class="next" href="([^"]+)"/.exec(page)?.[1];
  }
  expect(seen).toEqual(seqs.toReversed());
});
