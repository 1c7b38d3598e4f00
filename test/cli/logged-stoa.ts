import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatEntry } from "../../src/tlog/entries/entry-text.ts";
import { FakeLog, firstEntry, origin } from "../client/fake-log.ts";
import { type FakeStoa, refuse, show, startFake } from "../client/fake-stoa.ts";
import { buildChain, type Change, type LooseDocument, type Receipt } from "../receipt/chain.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { sampleKey } from "../tlog/sample-log.ts";
import { testEntries } from "../tlog/test-log.ts";
import { runStoa, startStoa } from "./stoa.ts";

/** A service with a chain and a log, each of which has what the other must have; and what somebody verifies it with. */
export class LoggedStoa {
  readonly chain: Receipt[] = [];
  /** The indexes of the entries of receipts, by seq. */
  readonly #entries = new Map<number, number>();
  readonly fake: FakeStoa;
  log: FakeLog;
  readonly home = scratchFolder();

  constructor(fake: FakeStoa, log: FakeLog) {
    this.fake = fake;
    this.log = log;
    fake.intercept = (path, response) => {
      const seq = /\/receipts\/(\d+)\/proof$/.exec(path)?.[1];
      const index = this.#entries.get(Number(seq));
      if (index !== undefined) void this.log.proof(index).then((proof) => response.end(proof));
      const file = path.startsWith("/log/") ? this.log.file(path.slice(5)) : undefined;
      if (file !== undefined) response.end(file);
      return index !== undefined || file !== undefined;
    };
  }

  static async start(receipts: number): Promise<LoggedStoa> {
    const stoa = new LoggedStoa(await startFake([]), await FakeLog.of(40));
    for (let seq = 1; seq <= receipts; seq++) await stoa.seal();
    return stoa;
  }

  /** Seals the next receipt. A daily one names the tree of the log. */
  async seal(change: (document: LooseDocument) => void = () => {}, isLogged = true): Promise<void> {
    const last = this.chain.at(-1);
    const seq = this.chain.length + 1;
    const sealed: Change = {
      document: (document) => {
        const { size, root } = this.tree;
        if (document.body.type === "daily") document.evidence.log = { origin, size, root };
        change(document);
      },
    };
    const [receipt] = buildChain(1, { [seq]: sealed }, last && { seq: last.seq, hash: last.hash });
    this.chain.push(receipt as Receipt);
    this.fake.receipts.push(show(receipt as Receipt));
    if (!isLogged) return;
    this.#entries.set(seq, this.log.size);
    const { hash } = receipt as Receipt;
    const entry = formatEntry({ type: "receipt", seq, hash, ts: "2026-02-01T00:00:00.000Z" });
    await this.log.grow([entry, ...testEntries(0, 3)]);
  }

  get tree() {
    return { size: this.log.size, root: Buffer.from(this.log.log.range.root()).toString("hex") };
  }

  /** Replaces the log by one that has other entries at the end. */
  async fork(kept: number, key = sampleKey): Promise<void> {
    const entries = this.log.entries.map((entry) => Buffer.from(entry).toString());
    this.log = await FakeLog.of(
      [firstEntry(key), ...entries.slice(1, kept), ...Array(entries.length).fill("other")],
      key,
    );
  }

  /** Makes the service have no log. @returns what gives it back */
  withoutLog(): () => void {
    const { intercept } = this.fake;
    this.fake.intercept = (path, response) =>
      path.startsWith("/log/") && !refuse(response, 404, { error: "not_found", message: "None." });
    return () => {
      this.fake.intercept = intercept;
    };
  }

  get state(): string {
    return join(this.home, "state");
  }

  verify(...more: string[]) {
    return runStoa(["verify", this.fake.url, "--state", this.state, ...more], this.home);
  }

  async verifyJson(...more: string[]) {
    return JSON.parse((await this.verify("--json", ...more)).stdout);
  }

  /** Verifies it as if nobody had before. */
  async verifyAfresh() {
    const state = join(this.home, "another");
    return JSON.parse((await runStoa(["verify", this.fake.url, "--json", "--state", state], this.home)).stdout);
  }

  follow() {
    return startStoa(["verify", this.fake.url, "--follow", "--json", "--state", this.state], this.home);
  }

  remembered() {
    return JSON.parse(readFileSync(this.state, "utf8"));
  }
}
