import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultStreamLimits } from "../../src/rate-limits/stream-limits.ts";
import { type FakeStoa, shownChain, startFake, textOf } from "../client/fake-stoa.ts";
import { type LedgerUnderTest, startLedger } from "../ledger/support.ts";
import { otherHash } from "../receipt/chain.ts";
import { waitUntil } from "../support/wait.ts";
import { type Running, scratchFolder, startStoa } from "./stoa.ts";

interface Following {
  run: Running;
  state: string;
  remembered(): { seq: number; hash: string };
}

function follow(url: string, ...more: string[]): Following {
  const home = scratchFolder();
  const state = join(home, "state.json");
  const run = startStoa(["verify", url, "--follow", "--state", state, ...more], home);
  return { run, state, remembered: () => JSON.parse(readFileSync(state, "utf8")) };
}

const seen = (run: Running, text: string) => waitUntil(text, () => run.stdout.includes(text));

describe("stoa verify --follow", () => {
  it("prints and remembers each receipt as it is sealed, and ends with a summary", async () => {
    const service = await startLedger();
    const { run, remembered } = follow(service.url);
    await seen(run, `verified receipts 1 to 1 of ${service.url}`);
    expect(remembered()).toMatchObject({ url: service.url, seq: 1 });
    const lines: string[] = [];
    for (let seq = 2; seq <= 4; seq++) {
      const { hash, document } = await service.seal();
      lines.push(`receipt ${seq}: ${document?.ts} session ${hash}\n`);
      await seen(run, lines.at(-1) as string);
      expect(remembered()).toMatchObject({ seq, hash });
    }
    run.child.kill("SIGINT");
    const { status, stdout, stderr } = await run.done;
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const [first, ...rest] = stdout.split(/(?<=\n)/);
    expect(first).toMatch(/^verified receipts 1 to 1 of /);
    const summary = `verified receipts 1 to 4 of ${service.url}: head ${remembered().hash}\n`;
    expect(rest).toEqual([...lines, summary]);
  });

  it("prints an object for each new receipt, and one in the end", async () => {
    const service = await startLedger();
    await service.seal();
    const { run, state, remembered } = follow(service.url, "--json");
    await waitUntil("the state file", () => existsSync(state));
    expect(remembered().seq).toBe(2);
    const { hash, prevHash, document } = await service.seal({ book: "the \u001b book" });
    await waitUntil("the receipt", () => run.stdout.includes("\n"));
    run.child.kill("SIGTERM");
    const { status, stdout, stderr } = await run.done;
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const objects = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    const { ts, book } = document as { ts: string; book: string };
    expect(objects).toEqual([
      { seq: 3, hash, prev_hash: prevHash, kind: "seal", ts, book, type: "session" },
      {
        ok: true,
        url: service.url,
        from: 1,
        to: 3,
        count: 3,
        head: hash,
        broken_at: null,
        reason: null,
        remembered: null,
        duration_ms: expect.any(Number),
      },
    ]);
  });

  it("misses nothing, and sees nothing twice, over restarts of the service", async () => {
    const first = await startLedger();
    const replica = await startLedger({ db: first.db });
    const port = Number(new URL(first.url).port);
    const { run, state, remembered } = follow(first.url, "--json");
    await waitUntil("the state file", () => existsSync(state));
    const hashes: string[] = [];
    const seal = async (by: LedgerUnderTest) => void hashes.push((await by.seal()).hash);
    const lines = () => run.stdout.split("\n").length - 1;

    let service = first;
    for (let restart = 0; restart < 3; restart++) {
      await seal(service);
      await waitUntil("the receipt", () => lines() === hashes.length);
      await service.app.close();
      await seal(replica);
      await seal(replica);
      service = await startLedger({ db: first.db, config: { port } });
      await waitUntil("the receipts sealed meanwhile", () => lines() === hashes.length);
    }
    expect(remembered()).toMatchObject({ seq: 10, hash: hashes.at(-1) });
    run.child.kill("SIGINT");
    const { status, stdout } = await run.done;
    expect(status).toBe(0);
    const receipts = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
      .slice(0, -1);
    expect(receipts.map(({ seq }) => seq)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(receipts.map(({ hash }) => hash)).toEqual(hashes);
  });

  it("goes on when its stream has lasted as long as it may, and says nothing of that", async () => {
    const service = await startLedger({ config: { streams: { ...defaultStreamLimits, maxMs: 500 } } });
    const { run } = follow(service.url);
    await seen(run, "verified receipts 1 to 1");
    const ended = () => service.log.filter(({ msg, route }) => msg === "request" && String(route).endsWith("/stream"));
    for (let seq = 2; seq <= 3; seq++) {
      await waitUntil("the end of the stream", () => ended().length >= seq - 1);
      await service.seal();
      await seen(run, `receipt ${seq}: `);
    }
    run.child.kill("SIGINT");
    const { status, stderr } = await run.done;
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });

  it("waits at once where nothing is new, from the last time on", async () => {
    const fake = await startFake(shownChain(3));
    const { run, state } = follow(fake.url);
    await seen(run, "verified receipts 1 to 3");
    run.child.kill("SIGINT");
    await run.done;
    const again = startStoa(["verify", fake.url, "--follow", "--from", "last", "--state", state], scratchFolder());
    await seen(again, `there is no receipt after 3 of ${fake.url} yet: head ${fake.receipts[2].hash}\n`);
    await waitUntil("the follower", () => fake.followers.size === 1);
    fake.receipts = shownChain(4);
    send(fake, 4);
    await seen(again, "receipt 4: ");
    again.child.kill("SIGINT");
    expect((await again.done).status).toBe(0);
  });

  /** Sends a receipt to those who follow. */
  function send(fake: FakeStoa, seq: number): void {
    for (const each of fake.followers) each.write(`${textOf(fake.receipts[seq - 1])}\n`);
  }

  it("ends with 1 when a new receipt does not verify, and remembers the last good one", async () => {
    const fake = await startFake(shownChain(3));
    const { run, remembered } = follow(fake.url);
    await seen(run, "verified receipts 1 to 3");
    await waitUntil("the follower", () => fake.followers.size === 1);
    fake.receipts = shownChain(5);
    fake.receipts[4].hash = otherHash;
    send(fake, 4);
    send(fake, 5);
    const { status, stdout } = await run.done;
    expect(status).toBe(1);
    expect(stdout).toMatch(/\nreceipt 4: .*\nreceipt 5 does not verify: wrong_hash: .*\n$/);
    expect(remembered()).toMatchObject({ seq: 4 });
  });

  it("tells of interruptions, and ends with 1 when the service comes back with a shorter chain", async () => {
    const fake = await startFake(shownChain(3));
    const { run } = follow(fake.url);
    await seen(run, "verified receipts 1 to 3");
    await waitUntil("the follower", () => fake.followers.size === 1);
    fake.receipts = shownChain(1);
    fake.cut();
    const { status, stdout, stderr } = await run.done;
    expect(status).toBe(1);
    expect(stdout).toMatch(/\nreceipt 3 does not verify: truncated: .*\n$/);
    expect(stderr).toMatch(/^stoa: the connection failed: .*; connecting again in 0\.[12] s\n$/);
  });

  it("ends with 3 when it is stopped before it has reached the head", async () => {
    const fake = await startFake(shownChain(3));
    fake.headSeq = 5;
    const { run, state } = follow(fake.url);
    await waitUntil("the follower", () => fake.followers.size === 1);
    run.child.kill("SIGINT");
    const { status, stdout, stderr } = await run.done;
    expect({ status, stdout }).toEqual({ status: 3, stdout: "" });
    expect(stderr).toContain("interrupted: the head was not reached");
    expect(existsSync(state)).toBe(false);
  });

  it("ends quietly when nobody reads its lines any more", async () => {
    const fake = await startFake(shownChain(3));
    const { run } = follow(fake.url);
    await seen(run, "verified receipts 1 to 3");
    await waitUntil("the follower", () => fake.followers.size === 1);
    run.child.stdout?.destroy();
    fake.receipts = shownChain(4);
    send(fake, 4);
    expect(await run.done).toMatchObject({ status: 0, stderr: "" });
  });
});
