import { maxNoteBytes } from "../../tlog/notes/note.ts";
import { entryAt, maxEntryBytes } from "../../tlog/tiles/bundle.ts";
import { type Bundle, formatTilePath, fullWidth, type Tile } from "../../tlog/tiles/tile-path.ts";
import { hashBytes } from "../../tlog/tree/hashing.ts";
import { sleep, waitBefore } from "../backoff.ts";
import { StoaError } from "../error.ts";
import { getShort, rootAddress } from "../http.ts";
import { LogFinding } from "./finding.ts";

/** How often something is requested. The waits between take two to four seconds in all, or more if the service asks for it. */
const tries = 5;

/** The files of a log. Nothing of what they hold is verified. */
export interface LogFiles {
  /** The newest checkpoint; undefined if there is none. */
  checkpoint(): Promise<Uint8Array | undefined>;
  /** @throws LogFinding `missing_tile` */
  tile(tile: Tile | Bundle): Promise<Uint8Array>;
}

/**
 * The files of a log at an address. Each request is bounded in time and bytes. Of a file that is too long it returns one byte
 * more than the file may have, which no parser accepts.
 */
export class LogSource implements LogFiles {
  /** Without a slash at the end. The checkpoint is at `/checkpoint` below it. */
  readonly address: string;
  readonly #signal: AbortSignal | undefined;

  constructor(address: string, signal: AbortSignal | undefined) {
    this.address = rootAddress(address);
    this.#signal = signal;
  }

  /** Reads the newest checkpoint; undefined if there is none. @throws StoaError; the signal's reason */
  checkpoint(): Promise<Uint8Array | undefined> {
    return retrying(() => this.#read("checkpoint", maxNoteBytes), this.#signal);
  }

  /** Reads a tile or a bundle. @throws LogFinding `missing_tile`; StoaError; the signal's reason */
  async tile(tile: Tile | Bundle): Promise<Uint8Array> {
    const found = await retrying(async () => {
      const bytes = (await this.#readTile(tile)) ?? (await this.#readFull(tile));
      // It may come soon: replicas do not publish at the same moment.
      if (bytes === undefined)
        throw new StoaError("unavailable", `there is no ${formatTilePath(tile)}`, { status: 404 });
      return bytes;
    }, this.#signal).catch((error: unknown) => {
      if (error instanceof StoaError && error.isNotFound) return undefined;
      throw error;
    });
    if (found !== undefined) return found;
    throw new LogFinding(
      "missing_tile",
      `the log does not have ${formatTilePath(tile)} of the tree that it has signed`,
    );
  }

  #readTile(tile: Tile | Bundle): Promise<Uint8Array | undefined> {
    const bytesOfOne = tile.level === "entries" ? 2 + maxEntryBytes : hashBytes;
    return this.#read(formatTilePath(tile), tile.width * bytesOfOne);
  }

  /** The beginning of the full tile. Servers may remove a partial tile when they have the full one. */
  async #readFull(tile: Tile | Bundle): Promise<Uint8Array | undefined> {
    if (tile.width === fullWidth) return undefined;
    const full = await this.#readTile({ ...tile, width: fullWidth });
    if (full === undefined || tile.level !== "entries") return full?.subarray(0, tile.width * hashBytes);
    return firstEntries(full, tile.width);
  }

  async #read(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
    try {
      return await getShort(`${this.address}/${path}`, maxBytes, this.#signal);
    } catch (error) {
      if (error instanceof StoaError && error.isNotFound) return undefined;
      throw error;
    }
  }
}

/** Runs a step, and again when it may succeed later. @throws what the last try throws; the signal's reason */
export async function retrying<T>(step: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof StoaError) || !error.mayPass || attempt + 1 === tries) throw error;
      await sleep(Math.min(waitBefore(attempt, error), maxWaitMs), signal);
    }
  }
}

/** The longest wait that a service may cause, in milliseconds. */
const maxWaitMs = 10_000;

/** The first entries of a bundle, or all of it if it has fewer. */
function firstEntries(bundle: Uint8Array, count: number): Uint8Array {
  let end = 0;
  for (let index = 0; index < count; index++) {
    const entry = entryAt(bundle, end);
    if (entry === undefined) return bundle;
    end += 2 + entry.length;
  }
  return bundle.subarray(0, end);
}
