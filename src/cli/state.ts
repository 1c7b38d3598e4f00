import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { parseHead } from "../receipt/head-text.ts";
import type { Head } from "../receipt/recovery.ts";

/** The newest receipt of a service that was verified, and when. */
export interface Remembered extends Head {
  url: string;
  /** RFC 3339, UTC. */
  time: string;
  /** The log of the service, if it had one. */
  log?: RememberedLog | undefined;
}

/** The key of a log, and the newest checkpoint that was verified: the signed note. It is evidence if the log ever differs. */
export interface RememberedLog {
  vkey: string;
  checkpoint: string;
}

/** A file or folder in which a command keeps something cannot be used. The message is one line. */
export class StateError extends Error {
  override readonly name = "StateError";
}

/** The default state file of an address. */
export function defaultStateFile(url: string, environment: NodeJS.ProcessEnv): string {
  const { XDG_STATE_HOME: configured } = environment;
  // The XDG specification says that relative paths are ignored.
  const states = configured !== undefined && isAbsolute(configured) ? configured : join(homedir(), ".local/state");
  const host = new URL(url).host.replace(/[^A-Za-z0-9.-]/g, "_");
  const tag = createHash("sha256").update(url).digest("hex").slice(0, 16);
  return join(states, "stoa", `${host}-${tag}.json`);
}

/** Remembers the head of one service in a file. */
export class StateFile {
  readonly #path: string;
  readonly #url: string;

  constructor(path: string, url: string) {
    this.#path = path;
    this.#url = url;
  }

  /** Reads the file; undefined if there is none yet. @throws StateError for a file that cannot be used */
  load(): Remembered | undefined {
    let text: string;
    try {
      text = readFileSync(this.#path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new StateError(`the state file ${this.#path} cannot be read: ${(error as Error).message}`);
    }
    const remembered = parse(text);
    if (remembered === undefined) {
      throw new StateError(
        `the state file ${this.#path} is damaged: restore it from a backup, or move it away to begin without a memory`,
      );
    }
    if (remembered.url !== this.#url) {
      throw new StateError(
        `the state file ${this.#path} remembers ${remembered.url}: name another one with --state, or move it away`,
      );
    }
    return remembered;
  }

  /** Checks before any work is done that the file can be written. @throws StateError */
  prepare(): void {
    this.#attempt(() => {
      makeFolder(dirname(this.#path), 0o700);
      rmSync(this.#write(""));
    });
  }

  /**
   * Remembers a receipt and a log, unless another process has remembered a newer receipt.
   * @param log by default the remembered one stays
   * @throws StateError
   */
  save({ seq, hash }: { seq: number; hash: string }, log?: RememberedLog): void {
    const there = this.load();
    if (there !== undefined && there.seq > seq) return;
    const remembered: Remembered = {
      url: this.#url,
      seq,
      hash,
      time: new Date().toISOString(),
      log: log ?? there?.log,
    };
    this.#attempt(() => renameSync(this.#write(`${JSON.stringify(remembered)}\n`), this.#path));
  }

  /** Writes a new file beside the state file. A rename then replaces the state file completely or not at all. */
  #write(text: string): string {
    const path = `${this.#path}.${process.pid}-${randomBytes(4).toString("hex")}`;
    try {
      writeFileSync(path, text, { flag: "wx", mode: 0o600, flush: true });
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    }
    return path;
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      throw new StateError(
        `the state file ${this.#path} cannot be written: ${(error as Error).message}; name another one with --state`,
      );
    }
  }
}

function parse(text: string): Remembered | undefined {
  const head = parseHead(text);
  if (head === undefined) return undefined;
  const { url, seq, hash, time, log } = head;
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  if (typeof time !== "string" || Number.isNaN(Date.parse(time))) return undefined;
  if (log === undefined) return { url, seq, hash, time };
  if (typeof log !== "object" || log === null || Array.isArray(log)) return undefined;
  const { vkey, checkpoint } = log;
  if (typeof vkey !== "string" || typeof checkpoint !== "string") return undefined;
  return { url, seq, hash, time, log: { vkey, checkpoint } };
}

/** Creates a folder and the missing ones above it. The `recursive` of Node.js never ends below /proc. */
export function makeFolder(path: string, mode?: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    makeFolder(dirname(path), mode);
    mkdirSync(path, { mode });
  }
}
