// A receipt that was changed behind the service's back is given as it is stored, and marked, so that nobody keeps it.
import { createHash } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { type LedgerUnderTest, ledgerClient, protocols, startLedger, unlockReceipts } from "./support.ts";

const seq = 3;
let service: LedgerUnderTest;
let canonical: Buffer;

beforeAll(async () => {
  service = await startLedger();
  for (let i = 0; i < 4; i++) await service.seal();
  await unlockReceipts(service.db);
  const [row] = await service.db.rows<{ canonical: Buffer }>("SELECT canonical FROM receipts WHERE seq = ?", [seq]);
  canonical = row?.canonical as Buffer;
});

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** Changes columns of the receipt while a test looks at it. */
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

const changed = () => Buffer.from(canonical.toString("utf8").replace("a note", "a lie!"));
const renumbered = () => Buffer.from(canonical.toString("utf8").replace(`"seq":${seq},"ts"`, `"seq":9,"ts"`));
const kinds: [string, () => Record<string, unknown>][] = [
  ["changed bytes", () => ({ canonical: changed() })],
  ["a changed hash", () => ({ hash: "a".repeat(64) })],
  ["a hash of capitals", () => ({ hash: sha256(canonical).toUpperCase() })],
  ["no bytes", () => ({ canonical: Buffer.alloc(0) })],
  ["bytes that are no JSON", () => ({ canonical: Buffer.from("{") })],
  ["bytes that are no UTF-8", () => ({ canonical: Buffer.from([0xff, 0xfe]) })],
  ["a changed prev_hash", () => ({ prev_hash: "b".repeat(64) })],
  ["bytes of another seq, with their hash", () => ({ canonical: renumbered(), hash: sha256(renumbered()) })],
];

describe.each(kinds)("a receipt with %s", (_, columns) => {
  const addresses = [`house/receipts/${seq}`, `house/receipts/${seq}/canonical`];

  it("is marked, and not to be kept", () =>
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
    }));

  it("is given with the bytes that are stored", () =>
    damage(columns(), async () => {
      const [row] = await service.db.rows<{ canonical: Buffer; hash: string; prev_hash: string }>(
        "SELECT * FROM receipts WHERE seq = ?",
        [seq],
      );
      const bytes = await (await fetch(`${service.url}/api/v1/${addresses[1]}`)).arrayBuffer();
      expect(Buffer.from(bytes)).toEqual(row?.canonical);
      const { receipt } = (await service.rest(addresses[0] as string)).body;
      expect(receipt).toMatchObject({ seq, hash: row?.hash, prev_hash: row?.prev_hash });
      expect(receipt.canonical).toBe(row?.canonical.toString("utf8"));
    }));

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

  it("says so on its page", () =>
    damage(columns(), async () => {
      const response = await fetch(`${service.url}/house/receipts/${seq}`);
      expect(response.status).toBe(200);
      expect(response.headers.get("cache-control")).toBe("no-store");
      expect(response.headers.get("etag")).toBeNull();
      expect(await response.text()).toContain("This receipt is damaged");
    }));
});

it("every other receipt is unmarked, the first and the newest too", async () => {
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
