import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defaultStateFile, StateFile } from "../../src/cli/state.ts";
import { type FakeStoa, shownChain, startFake } from "../client/fake-stoa.ts";
import { otherHash } from "../receipt/chain.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { runStoa } from "./stoa.ts";

const read = (path: string) => JSON.parse(readFileSync(path, "utf8"));
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

/** The state after receipt `seq` of the fake's chain. */
function memory(fake: FakeStoa, seq: number): object {
  return { url: fake.url, seq, hash: fake.receipts[seq - 1].hash, time };
}

it("the state file is in the home folder, or in that of the XDG variable if absolute; each address has its own", () => {
  const url = "https://stoa.example:8443";
  expect(defaultStateFile(url, {})).toMatch(/\/\.local\/state\/stoa\/stoa\.example_8443-[0-9a-f]{16}\.json$/);
  expect(defaultStateFile(url, { XDG_STATE_HOME: "/var/states" })).toMatch(/^\/var\/states\/stoa\//);
  expect(defaultStateFile(url, { XDG_STATE_HOME: "states" })).toBe(defaultStateFile(url, {}));
  const urls = ["https://a.example", "http://a.example", "https://a.example/b", "https://[::1]:80"];
  const places = urls.map((each) => defaultStateFile(each, { XDG_STATE_HOME: "/s" }));
  expect(new Set(places).size).toBe(4);
  for (const place of places) expect(place).toMatch(/^\/s\/stoa\/[A-Za-z0-9._-]+\.json$/);
});

describe("the state file", () => {
  it("advances with each success, and stays the same after a failure", async () => {
    const fake = await startFake(shownChain(3));
    const state = join(scratchFolder(), "state.json");
    const verify = async () => (await runStoa(["verify", fake.url, "--state", state], "/nonexistent")).status;
    fake.receipts[2].hash = otherHash;
    expect(await verify()).toBe(1);
    expect(existsSync(state)).toBe(false);
    fake.receipts = shownChain(3);
    expect(await verify()).toBe(0);
    expect(read(state)).toEqual(memory(fake, 3));
    fake.receipts = shownChain(5);
    expect(await verify()).toBe(0);
    expect(read(state)).toEqual(memory(fake, 5));
    const before = readFileSync(state, "utf8");

    fake.receipts = shownChain(7);
    fake.receipts[5].hash = otherHash;
    expect(await verify()).toBe(1);
    fake.headSeq = 9;
    fake.receipts = shownChain(7);
    expect(await verify()).toBe(1);
    fake.intercept = (_, response) => !!response.writeHead(503).end();
    expect(await verify()).toBe(3);
    expect(readFileSync(state, "utf8")).toBe(before);
  });

  it("is not set back if another process has advanced it in the meantime", () => {
    const path = join(scratchFolder(), "state.json");
    const [here, there] = [new StateFile(path, "http://stoa.example"), new StateFile(path, "http://stoa.example")];
    there.save({ seq: 5, hash: otherHash });
    here.save({ seq: 3, hash: otherHash });
    expect(here.load()).toEqual({ url: "http://stoa.example", seq: 5, hash: otherHash, time });
    here.save({ seq: 6, hash: otherHash });
    expect(there.load()?.seq).toBe(6);
  });

  it("stays the same if receipts between it and the start were not verified", async () => {
    const fake = await startFake(shownChain(3));
    const home = scratchFolder();
    const state = join(home, "state.json");
    await runStoa(["verify", fake.url, "--state", state], home);
    fake.receipts = shownChain(8);
    const { status, stderr } = await runStoa(["verify", fake.url, "--state", state, "--from", "6"], home);
    expect(status).toBe(0);
    expect(stderr).toBe("stoa: receipts 4 to 5 are not verified, so receipt 3 stays the remembered one\n");
    expect(read(state)).toEqual(memory(fake, 3));
    expect((await runStoa(["verify", fake.url, "--state", state, "--from", "4"], home)).status).toBe(0);
    expect(read(state)).toEqual(memory(fake, 8));
  });

  it("is refused and kept if it is damaged, or belongs to another address", async () => {
    const fake = await startFake(shownChain(1));
    const state = join(scratchFolder(), "state.json");
    const good = { url: "http://stoa.example", seq: 1, hash: otherHash, time: "2026-01-01T00:00:00.000Z" };
    const wrong = [{ url: undefined }, { seq: "1" }, { seq: 0 }, { hash: "x" }, { time: "yesterday" }];
    const damaged = ["", JSON.stringify(good).slice(0, -1), "[]", "null"];
    for (const text of [...damaged, ...wrong.map((each) => JSON.stringify({ ...good, ...each }))]) {
      writeFileSync(state, text);
      expect(await runStoa(["verify", fake.url, "--state", state], "/nonexistent")).toEqual({
        status: 2,
        stdout: "",
        stderr: `stoa: the state file ${state} is damaged: restore it from a backup, or move it away to begin without a memory\n`,
      });
      expect(readFileSync(state, "utf8")).toBe(text);
    }
    writeFileSync(state, JSON.stringify(good));
    const { status, stderr } = await runStoa(["verify", fake.url, "--state", state], "/nonexistent");
    expect([status, stderr]).toEqual([
      2,
      `stoa: the state file ${state} remembers http://stoa.example: name another one with --state, or move it away\n`,
    ]);
    expect(fake.asked).toEqual([]);
  });

  it("is refused before any receipt is read if it cannot be written", async () => {
    const fake = await startFake(shownChain(1));
    const folder = scratchFolder();
    writeFileSync(join(folder, "file"), "");
    mkdirSync(join(folder, "sealed"));
    chmodSync(join(folder, "sealed"), 0o500);
    // Root can write to every folder, but nobody can create files in /proc/self/fd.
    const closed = process.getuid?.() === 0 ? "/proc/self/fd" : join(folder, "sealed");
    for (const state of [join(closed, "state.json"), join(folder, "file/state.json"), "/proc/x/y/state.json"]) {
      const { status, stdout, stderr } = await runStoa(["verify", fake.url, "--state", state], folder);
      expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
      expect(stderr).toContain(`the state file ${state} cannot be `);
    }
    expect(fake.asked).toEqual([]);
  });
});
