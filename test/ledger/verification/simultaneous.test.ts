// Verifications that several callers ask for at the same time.
import { expect, it } from "vitest";
import { exchangeHttp2, openSession } from "../../http/recorded/exchange.ts";
import { afterFile } from "../../support/after-file.ts";
import { waitUntil } from "../../support/wait.ts";
import { fill, type LedgerUnderTest, ledgerClient, refusal, startLedger } from "../support.ts";

/** More than one batch, so that there is something left to read. */
const count = 41;
// The guard reads receipts, too, and would wait among the readers that these tests count.
const guardLookMs = 3_600_000;

const target = await startLedger({ overrides: { guardLookMs } });
await fill(target.db, count - 1);
const reusing = { guardLookMs, verificationAgeMs: 3_600_000 };
/** These two reuse a report, which a call gets that reads the head so late that the run has ended: it only says its age. */
const patient = await startLedger({ db: target.db, overrides: reusing });
/** Its callers wait only shortly for each other. */
const impatient = await startLedger({ db: target.db, overrides: { ...reusing, verificationWaitMs: 30 } });

/** The reply of a run, without the age that its report has for a caller. */
const reportOf = ({ body: { age_seconds: _, ...report } }: { body: Record<string, unknown> }) => report;

/** Runs `work` while another connection has locked the receipts, so that readers wait. */
async function withHeldBack<T>(work: (release: () => Promise<void>) => Promise<T>): Promise<T> {
  const connection = await target.db.pool.getConnection();
  await connection.query("LOCK TABLES receipts WRITE");
  try {
    return await work(async () => {
      await connection.query("UNLOCK TABLES");
    });
  } finally {
    await connection.query("UNLOCK TABLES");
    connection.release();
  }
}

/**
 * Asks over one connection, so that requests arrive in their order: what was asked before has reached the service when it
 * answers what was asked later.
 */
function askInOrder({ url }: LedgerUnderTest): (path: string) => Promise<{ body: Record<string, unknown> }> {
  const session = openSession(url);
  afterFile(() => session.destroy());
  return async (target) => {
    const reply = await exchangeHttp2(session, { method: "GET", target, headers: [] });
    return { body: JSON.parse(String(reply?.body)) };
  };
}

/** How many statements wait to read receipts. */
async function waiting(): Promise<number> {
  // SHOW is used because MySQL's table of processes fails for statements with binary values.
  const running = await target.db.rows<{ db: string | null; Info: string | null }>("SHOW FULL PROCESSLIST");
  const ours = running.filter(({ db }) => db === target.db.config.database);
  return ours.filter(({ Info }) => Info?.includes("FROM receipts WHERE")).length;
}

it("verifications share one run if they are identical; others wait, and each gets its own result", async () => {
  const askFor = askInOrder(patient);
  const ask = (from: number) => askFor(`/house/verify?from=${from}`);
  const same = await withHeldBack(async (release) => {
    const first = ask(0);
    await waitUntil("the first to read", async () => (await waiting()) === 1);
    const others = [ask(1), ask(0), ask(1)];
    const later = [ask(5), ask(9)];
    await askFor("/readyz");
    expect(await waiting()).toBe(1);
    await release();
    const replies = await Promise.all([first, ...others]);
    expect((await Promise.all(later)).map(({ body }) => [body.verify_ok, body.from, body.count])).toEqual([
      [true, 5, count - 4],
      [true, 9, count - 8],
    ]);
    return replies.map(reportOf);
  });
  // They have the same duration, so there was one run.
  expect(same).toEqual(Array.from({ length: 4 }, () => same[0]));
  expect(same[0]).toMatchObject({ verify_ok: true, from: 1, count });
});

it("verifications continue for the other callers when one leaves", async () => {
  await withHeldBack(async (release) => {
    const leave = new AbortController();
    const leaving = fetch(`${target.url}/house/verify`, { signal: leave.signal }).catch(() => "left");
    await waitUntil("it to read", async () => (await waiting()) === 1);
    const staying = target.rest("/house/verify");
    await target.rest("/readyz");
    leave.abort();
    expect(await leaving).toBe("left");
    await release();
    expect((await staying).body).toMatchObject({ verify_ok: true, count });
  });
  expect(target.log.filter(({ level }) => level === 50)).toEqual([]);
});

it("verifications of different parts wait for a limited time, and are then unavailable", async () => {
  await withHeldBack(async (release) => {
    const first = impatient.rest("/house/verify");
    await waitUntil("the first to read", async () => (await waiting()) === 1);
    const { status, headers, body } = await impatient.rest("/house/verify?from=2");
    expect([status, headers.get("retry-after"), body]).toEqual([
      503,
      "10",
      {
        ok: false,
        error: "unavailable",
        message: "Another verification is running; try again later.",
        retry_after_seconds: 10,
      },
    ]);
    expect(await refusal(ledgerClient(impatient).verifyChain({ from: 3n }))).toEqual({
      code: "Unavailable",
      error: "unavailable",
    });
    // Identical requests wait until the verification ends.
    const ask = askInOrder(impatient);
    const same = ask("/house/verify?from=1");
    await ask("/readyz");
    await release();
    expect((await first).body).toMatchObject({ verify_ok: true, count });
    expect(reportOf(await same)).toEqual(reportOf(await first));
  });
  expect((await impatient.rest("/house/verify?from=2")).body).toMatchObject({ verify_ok: true, count: count - 1 });
});

it("verifications end when no caller waits any more", async () => {
  await withHeldBack(async (release) => {
    const leave = new AbortController();
    const leaving = [0, 1].map((from) =>
      fetch(`${target.url}/house/verify?from=${from}`, { signal: leave.signal }).catch(() => "left"),
    );
    await waitUntil("it to read", async () => (await waiting()) === 1);
    await target.rest("/readyz");
    leave.abort();
    expect(await Promise.all(leaving)).toEqual(["left", "left"]);
    // A new caller does not join a run that is being cancelled.
    const newcomer = target.rest("/house/verify");
    await target.rest("/readyz");
    await release();
    expect((await newcomer).body).toMatchObject({ verify_ok: true, count });
  });
  expect(target.log.filter(({ level }) => level === 50)).toEqual([]);
});
