// A log in memory, served by HTTP as a test requires.
import type { ServerResponse } from "node:http";
import { formatEntry } from "../../src/tlog/entries/entry-text.ts";
import { formatVkey } from "../../src/tlog/notes/key.ts";
import type { SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { formatExtra, type ProofExtra } from "../../src/tlog/proofs/extra.ts";
import { formatProof } from "../../src/tlog/proofs/tlog-proof.ts";
import { formatBundle } from "../../src/tlog/tiles/bundle.ts";
import { proveInclusion } from "../../src/tlog/tiles/prove.ts";
import { parseTilePath } from "../../src/tlog/tiles/tile-path.ts";
import { widthAt } from "../../src/tlog/tiles/widths.ts";
import { serveHttp } from "../support/http-server.ts";
import { checkpointOf, origin, sampleKey } from "../tlog/sample-log.ts";
import { TestLog, testEntries } from "../tlog/test-log.ts";

/** Entry 0 of a log. */
export const firstEntry = (key: SignerKey, named = key.name): string =>
  formatEntry({ type: "log", origin: named, vkey: formatVkey(key), ts: "2026-01-31T00:00:00.000Z" });

export class FakeLog {
  readonly key: SignerKey;
  readonly log = new TestLog();
  readonly entries: Uint8Array[] = [];
  note = new Uint8Array(0);

  private constructor(key: SignerKey) {
    this.key = key;
  }

  /** A log with `size` entries, "entry 1", "entry 2" and so on after entry 0, or with these. */
  static async of(entries: number | readonly string[], key = sampleKey): Promise<FakeLog> {
    const log = new FakeLog(key);
    if (typeof entries === "number") await log.grow([firstEntry(key), ...testEntries(1, entries)]);
    else await log.grow(entries);
    return log;
  }

  get size(): number {
    return this.log.range.size;
  }

  async grow(entries: readonly (string | Uint8Array)[]): Promise<void> {
    const bytes = entries.map((entry) => Buffer.from(entry));
    this.log.grow(bytes);
    for (const each of bytes) this.entries.push(each);
    this.note = Uint8Array.from(await checkpointOf({ root: this.log.range.root(), size: this.size }, this.key));
  }

  /** The file at a path below the log's address; undefined if there is none. */
  file(path: string): Uint8Array | undefined {
    if (path === "checkpoint") return this.note;
    if (!path.startsWith("tile/")) return undefined;
    const tile = parseTilePath(path);
    const { index, width } = tile;
    if (widthAt(tile.level === "entries" ? 0 : tile.level, index, this.size) < width) return undefined;
    if (tile.level !== "entries") return this.log.read(tile);
    return formatBundle(this.entries.slice(index * 256, index * 256 + width));
  }

  /** The proof of an entry. */
  async proof(index: number, text?: ProofExtra["text"]): Promise<Uint8Array> {
    const hashes = await proveInclusion(await this.log.open(), index);
    const extra = formatExtra({ entry: Buffer.from(this.entries[index] as Uint8Array).toString(), text });
    return formatProof({ extra, index, hashes, checkpoint: this.note });
  }
}

export interface FakeSite {
  url: string;
  log: FakeLog;
  /** The requested addresses, in order. */
  asked: string[];
  /** What there is besides the log, by address. */
  pages: Map<string, string | Uint8Array>;
  /** Returns true if it has answered in place of the fake. */
  intercept: ((path: string, response: ServerResponse) => boolean) | undefined;
}

/** Serves a log below an address, as Stoa does below `/log`. It stops after the last test of the file. */
export async function startSite(log: FakeLog, at = "/log"): Promise<FakeSite> {
  const { url } = await serveHttp((request, response) => {
    const path = request.url ?? "";
    site.asked.push(path);
    if (site.intercept?.(path, response) === true) return;
    const found =
      site.pages.get(path) ?? (path.startsWith(`${at}/`) ? site.log.file(path.slice(at.length + 1)) : undefined);
    if (found === undefined) response.writeHead(404).end("<html>not here</html>");
    else response.end(found);
  });
  const site: FakeSite = { url, log, asked: [], pages: new Map(), intercept: undefined };
  return site;
}

export { origin };
