import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { type FakeStoa, shownChain, startFake, textOf } from "../client/fake-stoa.ts";
import { startLedger } from "../ledger/support.ts";
import { otherHash } from "../receipt/chain.ts";
import { freePort } from "../support/free-port.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { waitUntil } from "../support/wait.ts";
import { type Running, startProcess, startStoa } from "./stoa.ts";

interface Following {
  run: Running;
  state: string;
  remembered(): { seq: number; hash: string };
}

function follow(url: string, more: string[] = [], start = startStoa): Following {
  const home = scratchFolder();
  const state = join(home, "state.json");
  const run = start(["verify", url, "--follow", "--state", state, ...more], home);
  return { run, state, remembered: () => JSON.parse(readFileSync(state, "utf8")) };
}

const objectsIn = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const seen = (run: Running, text: string) => waitUntil(text, () => run.stdout.includes(text));

let sealed: number;
const service = await startLedger();
beforeEach(async () => {
  [{ sealed } = { sealed: 0 }] = await service.db.rows<{ sealed: number }>("SELECT seq AS sealed FROM ledger_head");
});

describe("stoa verify --follow", () => {
  it("prints and remembers each receipt as it is sealed, and ends with a summary at Ctrl-C", async () => {
    const { run, remembered } = follow(service.url, [], startProcess);
    await seen(run, `verified receipts 1 to ${sealed} of ${service.url}`);
    expect(remembered()).toMatchObject({ url: service.url, seq: sealed });
    const lines: string[] = [];
    for (let seq = sealed + 1; seq <= sealed + 2; seq++) {
      const { hash, document } = await service.seal();
      lines.push(`receipt ${seq}: ${document?.ts} session ${hash}\n`);
      await seen(run, lines.at(-1) as string);
      expect(remembered()).toMatchObject({ seq, hash });
    }
    run.signal("SIGINT");
    const { status, stdout, stderr } = await run.done;
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const [first, ...rest] = stdout.split(/(?<=\n)/);
    expect(first).toMatch(/^verified receipts 1 to /);
    const summary = `verified receipts 1 to ${sealed + 2} of ${service.url}: head ${remembered().hash}\n`;
    expect(rest).toEqual([...lines, summary]);
  });

  it("prints an object for each new receipt, and one in the end", async () => {
    const { run, state, remembered } = follow(service.url, ["--json"]);
    await waitUntil("the state file", () => existsSync(state));
    expect(remembered().seq).toBe(sealed);
    const { hash, prevHash, document } = await service.seal({ book: "the \u001b book" });
    await waitUntil("the receipt", () => run.stdout.includes("\n"));
    run.signal("SIGTERM");
    const { status, stdout, stderr } = await run.done;
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const { ts, book } = document as { ts: string; book: string };
    const seq = sealed + 1;
    expect(objectsIn(stdout)).toEqual([
      { seq, hash, prev_hash: prevHash, kind: "seal", ts, book, type: "session" },
      {
        ok: true,
        url: service.url,
        from: 1,
        to: seq,
        count: seq,
        head: hash,
        broken_at: null,
        reason: null,
        remembered: null,
        log: null,
        duration_ms: expect.any(Number),
      },
    ]);
  });

  it("misses nothing, and sees nothing twice, over a restart of the service", async () => {
    const config = { port: await freePort() };
    const followed = await startLedger({ db: service.db, config });
    const { run, state, remembered } = follow(followed.url, ["--json"]);
    await waitUntil("the state file", () => existsSync(state));
    const receipts = [await followed.seal()];
    const areSeen = () => run.stdout.split("\n").length - 1 === receipts.length;
    await waitUntil("the receipt", areSeen);
    await followed.app.close();
    receipts.push(await service.seal(), await service.seal());
    const restarted = await startLedger({ db: service.db, config });
    await waitUntil("the receipts sealed meanwhile", areSeen);
    receipts.push(await restarted.seal());
    await waitUntil("the receipt after the restart", areSeen);
    expect(remembered()).toMatchObject({ seq: sealed + 4, hash: receipts[3]?.hash });
    run.signal("SIGINT");
    const { status, stdout } = await run.done;
    expect(status).toBe(0);
    expect(objectsIn(stdout).slice(0, -1)).toMatchObject(
      receipts.map(({ hash }, index) => ({ seq: sealed + 1 + index, hash })),
    );
  });

  it("waits at once where nothing is new, from the last time on", async () => {
    const fake = await startFake(shownChain(3));
    const { run, state } = follow(fake.url);
    await seen(run, "verified receipts 1 to 3");
    run.signal("SIGINT");
    await run.done;
    const again = startStoa(["verify", fake.url, "--follow", "--from", "last", "--state", state], scratchFolder());
    await seen(again, `there is no receipt after 3 of ${fake.url} yet: head ${fake.receipts[2].hash}\n`);
    await waitUntil("the follower", () => fake.followers.size === 1);
    fake.receipts = shownChain(4);
    send(fake, 4);
    await seen(again, "receipt 4: ");
    again.signal("SIGINT");
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
    run.signal("SIGINT");
    const { status, stdout, stderr } = await run.done;
    expect({ status, stdout }).toEqual({ status: 3, stdout: "" });
    expect(stderr).toContain("interrupted: the head was not reached");
    expect(existsSync(state)).toBe(false);
  });

  it("ends quietly when nobody reads its lines any more", async () => {
    const fake = await startFake(shownChain(3));
    const { run } = follow(fake.url, [], startProcess);
    await seen(run, "verified receipts 1 to 3");
    await waitUntil("the follower", () => fake.followers.size === 1);
    run.stopReading();
    fake.receipts = shownChain(4);
    send(fake, 4);
    expect(await run.done).toMatchObject({ status: 0, stderr: "" });
  });
});
