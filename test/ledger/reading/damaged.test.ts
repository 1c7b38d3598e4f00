// A receipt that was changed in the database is served as it is stored, and marked, so that nobody keeps it.
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Receipt } from "../../../gen/stoa/v1/receipt_pb.js";
import { waitUntil } from "../../support/wait.ts";
import {
  fill,
  type LedgerUnderTest,
  ledgerClient,
  protocols,
  type StoredRow,
  startLedger,
  unlockReceipts,
} from "../support.ts";
import { forms, receive, take } from "./followers.ts";

const seq = 3;

const service = await startLedger();
for (let i = 0; i < 4; i++) await service.seal();
await unlockReceipts(service.db);
const [row] = await service.db.rows<{ canonical: Buffer }>("SELECT canonical FROM receipts WHERE seq = ?", [seq]);
const canonical = row?.canonical as Buffer;

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Changes columns of the receipt while `look` runs. */
async function damage(columns: Record<string, unknown>, look: () => Promise<void>): Promise<void> {
  const [before] = await service.db.rows<Record<string, unknown>>("SELECT * FROM receipts WHERE seq = ?", [seq]);
  await service.db.pool.query("UPDATE receipts SET ? WHERE seq = ?", [columns, seq]);
  try {
    await look();
  } finally {
    const { hash, prev_hash, canonical } = before as Record<string, unknown>;
    await service.db.pool.query("UPDATE receipts SET ? WHERE seq = ?", [{ hash, prev_hash, canonical }, seq]);
  }
}

async function isAlarmed(target: LedgerUnderTest): Promise<boolean> {
  return (await target.rest("/readyz")).body.warning?.includes("does not verify") ?? false;
}

/** Verifies the whole chain, which clears the alarm if the chain is good. */
async function verifyWhole(isGood: boolean): Promise<void> {
  expect((await service.rest("/house/verify")).body.verify_ok).toBe(isGood);
  // The verification that a read of a damaged receipt caused has ended.
  await waitUntil("the new verdict", async () => (await isAlarmed(service)) !== isGood);
}

const changed = () => Buffer.from(canonical.toString("utf8").replace("a note", "a lie!"));
const renumbered = () => Buffer.from(canonical.toString("utf8").replace(`"seq":${seq},"ts"`, `"seq":9,"ts"`));
const kinds: [string, () => Record<string, unknown>][] = [
  ["changed bytes", () => ({ canonical: changed() })],
  ["a changed hash", () => ({ hash: "a".repeat(64) })],
  ["bytes that are no UTF-8", () => ({ canonical: Buffer.from([0xff, 0xfe]) })],
  ["a changed prev_hash", () => ({ prev_hash: "b".repeat(64) })],
  ["bytes of another seq, with their hash", () => ({ canonical: renumbered(), hash: sha256(renumbered()) })],
];

const addresses = [`house/receipts/${seq}`, `house/receipts/${seq}/canonical`];

it.each(kinds)("a receipt with %s is served as it is stored, marked and not cacheable", (_, columns) =>
  damage(columns(), async () => {
    for (const address of addresses) {
      for (const known of ["*", `"${sha256(canonical)}"`]) {
        const response = await fetch(`${service.url}/api/v1/${address}`, { headers: { "if-none-match": known } });
        expect(response.status).toBe(200);
        expect(response.headers.get("stoa-receipt")).toBe("damaged");
        expect(response.headers.get("cache-control")).toBe("no-store");
        expect(response.headers.get("etag")).toBeNull();
        expect(response.headers.get("access-control-expose-headers")).toContain("Stoa-Receipt");
      }
    }
    const [row] = await service.db.rows<StoredRow>("SELECT * FROM receipts WHERE seq = ?", [seq]);
    const bytes = await (await fetch(`${service.url}/api/v1/${addresses[1]}`)).arrayBuffer();
    expect(Buffer.from(bytes)).toEqual(row?.canonical);
    const { receipt } = (await service.rest(addresses[0] as string)).body;
    const stored = { seq, hash: row?.hash, prev_hash: row?.prev_hash, canonical: row?.canonical.toString("utf8") };
    expect(receipt).toMatchObject(stored);
  }),
);

describe("a damaged receipt", () => {
  const columns = () => ({ canonical: changed() });

  it.each(protocols)("is marked over %s", (protocol) =>
    damage(columns(), async () => {
      const marks: (string | null)[] = [];
      const onHeader = (headers: Headers) => {
        marks.push(headers.get("stoa-receipt"), headers.get("cache-control"), headers.get("etag"));
      };
      const client = ledgerClient(service, protocol);
      await client.getReceipt({ seq: BigInt(seq) }, { onHeader });
      await client.getCanonicalReceipt({ seq: BigInt(seq) }, { onHeader });
      expect(marks).toEqual(["damaged", "no-store", null, "damaged", "no-store", null]);
    }),
  );

  it("is the only one marked in lists and streams", () =>
    damage(columns(), async () => {
      const marked = (receipts: { seq: number | bigint; damaged?: boolean | undefined }[]) =>
        receipts.filter((receipt) => "damaged" in receipt).map(({ seq, damaged }) => [Number(seq), damaged]);
      const expected = [[seq, true]];
      const list = await service.rest("house/receipts");
      expect(list.headers.get("stoa-receipt")).toBe("damaged");
      expect(list.headers.get("cache-control")).toBe("no-store");
      expect(marked(list.body.receipts)).toEqual(expected);
      const before = await service.rest(`house/receipts?limit=${seq - 1}`);
      expect([before.headers.get("stoa-receipt"), marked(before.body.receipts)]).toEqual([null, []]);

      const lines = await (await fetch(`${service.url}/api/v1/house/receipts/stream`)).text();
      expect(
        marked(
          lines
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line)),
        ),
      ).toEqual(expected);
      const accept = { headers: { accept: "text/event-stream" } };
      const events = await (await fetch(`${service.url}/api/v1/house/receipts/stream`, accept)).text();
      const data = [...events.matchAll(/^data: ?(.*)$/gm)].map(([, text]) => JSON.parse(text as string));
      expect(marked(data)).toEqual(expected);
      for (const protocol of protocols) {
        const client = ledgerClient(service, protocol);
        expect(marked((await client.listReceipts({})).receipts)).toEqual(expected);
        const streamed: Receipt[] = [];
        for await (const { receipt } of client.streamReceipts({})) streamed.push(receipt as Receipt);
        expect(marked(streamed)).toEqual(expected);
      }
      const page = await fetch(`${service.url}/house/receipts`);
      expect(page.headers.get("cache-control")).toBe("no-store");
      expect(await page.text()).toContain("This receipt is damaged");
    }));

  it("is marked on its page", () =>
    damage(columns(), async () => {
      const response = await fetch(`${service.url}/house/receipts/${seq}`);
      expect(response.status).toBe(200);
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("etag")).toBeNull();
      expect(await response.text()).toContain("This receipt is damaged");
    }));
});

describe("a receipt that is consistent in itself but does not verify", () => {
  it("is marked, and later receipts are not cacheable for good", async () => {
    const forged = Buffer.from(canonical.toString("utf8").replace(/"count":\d+/, '"count":77'));
    await damage({ canonical: forged, hash: sha256(forged) }, async () => {
      await verifyWhole(false);
      const kept = async (at: number) => {
        const { headers, body } = await service.rest(`house/receipts/${at}`);
        return [headers.get("stoa-receipt"), body.receipt.damaged, headers.get("cache-control")];
      };
      expect(await kept(seq - 1)).toEqual([null, undefined, expect.stringContaining("immutable")]);
      expect(await kept(seq)).toEqual(["damaged", true, "no-store"]);
      expect(await kept(seq + 1)).toEqual([null, undefined, "no-cache"]);
    });
    await verifyWhole(true);
  });
});

it("a receipt that is missing is unavailable and logged; lists continue after it, and streams end there", async () => {
  const target = await startLedger();
  await fill(target.db, 5);
  await unlockReceipts(target.db);
  await target.db.rows("DELETE FROM receipts WHERE seq = ?", [seq]);
  expect(await isAlarmed(target)).toBe(false);
  for (const address of addresses) {
    const { status, body } = await target.rest(address);
    const error = { error: "unavailable", message: expect.stringContaining(`Receipt ${seq}`) };
    expect([status, body]).toMatchObject([503, error]);
  }
  for (const form of forms) {
    const stream = receive(target, form, { from: 1, follow: true });
    expect((await take(stream, 2)).map(({ seq }) => seq)).toEqual([1, 2]);
    await expect(stream.next()).rejects.toThrow(/^the stream failed: unavailable$/i);
  }
  const failed = target.log.filter(({ msg }) => msg === "a call failed");
  expect(failed).toHaveLength(addresses.length + forms.length);
  const first = await target.rest("house/receipts?limit=3");
  expect(first.headers.get("stoa-receipt")).toBe("damaged");
  expect(first.body).toMatchObject({ receipts: [{ seq: 1 }, { seq: 2 }, { seq: 4 }], next_from: 5 });
  const rest = await target.rest("house/receipts?from=5");
  expect([rest.headers.get("stoa-receipt"), rest.body.next_from]).toEqual([null, null]);
  expect((await target.rest("house/receipts/7")).status).toBe(404);
  expect((await fetch(`${target.url}/house/receipts`)).status).toBe(200);
  // Whoever reads damage causes a verification.
  await waitUntil("the alarm", () => isAlarmed(target));
});

it("every other receipt is unmarked, the first and the newest too", async () => {
  // The damage has been repaired.
  await verifyWhole(true);
  for (const seq of [1, 2, 3, 4, 5]) {
    for (const address of [`house/receipts/${seq}`, `house/receipts/${seq}/canonical`]) {
      const { headers } = await fetch(`${service.url}/api/v1/${address}`);
      expect(headers.get("stoa-receipt")).toBeNull();
      expect(headers.get("cache-control")).toContain("immutable");
    }
    const page = await fetch(`${service.url}/house/receipts/${seq}`);
    expect(page.headers.get("cache-control")).not.toBe("no-store");
    expect(await page.text()).not.toContain("is damaged");
  }
});
