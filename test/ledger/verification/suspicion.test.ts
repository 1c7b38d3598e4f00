// Reading a damaged receipt causes a verification of the whole chain, at most once a minute.
import { expect, it, vi } from "vitest";
import { createDatabaseWithSchema } from "../../support/database.ts";
import { waitUntil } from "../../support/wait.ts";
import { openLedger, sealBook } from "../support.ts";

/** The time of `performance.now()`, in milliseconds. */
let now = 1_000_000;
/** Grows each time that the wall clock is read, so that each verification ends at another time. */
let wall = Date.parse("2026-03-01T12:00:00Z");
const { ledger } = await openLedger(await createDatabaseWithSchema(), () => ++wall);
await sealBook(ledger, "a book", "2026-01-05");
vi.spyOn(performance, "now").mockImplementation(() => now);

/** Calls `suspect`, and waits for the verification. @returns whether there was one */
async function suspect(): Promise<boolean> {
  const { verifier } = ledger;
  // A verification begins with this, before `suspect` returns.
  const refresh = vi.spyOn(verifier.alarm, "refresh");
  const before = verifier.verifiedAt;
  verifier.suspect();
  const begun = refresh.mock.calls.length > 0;
  refresh.mockRestore();
  if (begun) await waitUntil("the verification", () => verifier.verifiedAt !== before);
  return begun;
}

it("the chain is verified again a minute after the last suspicion that caused a verification", async () => {
  expect(await suspect()).toBe(true);
  expect(await suspect()).toBe(false);
  for (let minutes = 0; minutes < 2; minutes++) {
    now += 59_999;
    expect(await suspect()).toBe(false);
    now += 1;
    expect(await suspect()).toBe(true);
  }
});
