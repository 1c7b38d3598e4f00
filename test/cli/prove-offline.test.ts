import { execFileSync } from "node:child_process";
import { createWriteStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { describe, expect, it } from "vitest";
import { commitment, formatContent } from "../../src/tlog/entries/content.ts";
import { formatEntry } from "../../src/tlog/entries/entry-text.ts";
import { formatPolicy } from "../../src/tlog/notes/policy.ts";
import { FakeLog, origin } from "../client/fake-log.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { sha256, testKey } from "../tlog/node-functions.ts";
import { at, proofOf, sampleEntries, sampleKey, texts } from "../tlog/sample-log.ts";
import { runStoa } from "./stoa.ts";

const entryTexts = sampleEntries.map(({ entry }) => entry);

describe("stoa prove --offline", () => {
  const home = scratchFolder();
  const file = (name: string, bytes: string | Uint8Array) => {
    const path = join(home, name);
    writeFileSync(path, bytes);
    return path;
  };
  const policy = file("policy", formatPolicy({ logs: [{ key: sampleKey }] }));
  const offline = (...files: string[]) =>
    runStoa(["prove", "--policy", policy, ...files.flatMap((path) => ["--offline", path])], "/");

  it("proves what is stored, and the author by the proof of an agent", async () => {
    const [edited, agent] = [file("edited", await proofOf(at.edit)), file("agent", await proofOf(at.agent))];
    const { status, stdout, stderr } = await offline(edited);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(
      `${edited} is proved: edit, ${JSON.parse(entryTexts[at.edit] as string).ts}, entry 5 of 11 in `,
    );
    expect((await offline(edited, agent)).stdout).toContain(`${edited} is proved: edit, by Zeno, `);
    const json = await runStoa(["prove", "--json", "--policy", policy, "--offline", edited], "/");
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: true,
      file: edited,
      origin,
      index: at.edit,
      content: texts.edited,
    });
  });

  it("names what is wrong with one of several", async () => {
    const good = file("good", await proofOf(at.post));
    const bad = file("bad", await proofOf(at.post, ({ hashes }) => ({ hashes: hashes.toReversed() })));
    const { status, stdout } = await offline(good, bad, file("other", "\u001b[2J"));
    expect(status).toBe(1);
    expect(stdout).toContain("good is proved: post, ");
    expect(stdout).toContain("bad is not proved: not_included: ");
    expect(stdout).toContain("other is not proved: bad_proof: ");
    expect(stdout).not.toContain("\u001b");
  });

  /** Runs something with a pipe that has 64 MiB. @returns its result, and how many MiB of them were taken */
  async function whilePiped<Result>(name: string, run: (path: string) => Promise<Result>): Promise<[Result, number]> {
    const path = join(home, name);
    execFileSync("mkfifo", [path]);
    let given = 0;
    const mebibytes = async function* () {
      for (; given < 64; given++) yield Buffer.alloc(2 ** 20);
    };
    const giving = pipeline(mebibytes, createWriteStream(path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
    const result = await run(path);
    await giving;
    return [result, given];
  }

  it("reads no more of a file than a proof or a policy may have", async () => {
    const [proof, ofProof] = await whilePiped("endless", offline);
    expect([proof.status, proof.stdout]).toEqual([1, expect.stringContaining("endless is not proved: bad_proof: ")]);
    const stored = file("stored", await proofOf(at.post));
    const [other, ofPolicy] = await whilePiped("endless-policy", (path) =>
      runStoa(["prove", "--offline", stored, "--policy", path], "/"),
    );
    expect([other.status, other.stderr]).toEqual([2, expect.stringContaining("endless-policy is not a policy: ")]);
    expect(Math.max(ofProof, ofPolicy)).toBeLessThan(8);
  });

  it("accepts no log that the policy does not name", async () => {
    const other = file("others", formatPolicy({ logs: [{ key: await testKey("other.example/log") }] }));
    const { status, stdout } = await runStoa(
      ["prove", "--offline", file("stored", await proofOf(at.post)), "--policy", other],
      "/",
    );
    expect([status, stdout]).toEqual([1, expect.stringContaining("not proved: other_origin: ")]);
  });

  it("shows foreign text without what a terminal obeys", async () => {
    const hostile = "\u001b[2J\u202eowned\u009b\n";
    const salt = new Uint8Array(16);
    const contents = [
      formatContent("agent", { ...texts.agent, name: hostile }),
      formatContent("post", { ...texts.post, body: hostile }),
    ];
    const entries = contents.map((content, at) =>
      formatEntry({
        ...(at === 0 ? { type: "agent", id: texts.post.agent } : { type: "post", id: 12 }),
        content: commitment(salt, content, sha256),
        ts: "2026-02-01T00:00:00.000Z",
      }),
    );
    const log = await FakeLog.of([entryTexts[0] as string, ...entries]);
    const files = contents.map(async (content, at) =>
      file(`hostile ${at}`, await log.proof(at + 1, { content, salt })),
    );
    const { status, stdout } = await offline(...(await Promise.all(files)));
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^([\x20-\x7e\ufffd]+\n){4}$/)]);
    expect(stdout).toContain("post, by \ufffd[2J\ufffdowned\ufffd");
    expect(JSON.parse(stdout.split("\n")[3] as string).body).toBe(hostile);
  });
});
