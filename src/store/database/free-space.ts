// The free space on the disk of the private database. InnoDB ends its own process when it cannot write what it must, and a
// start needs space as well: so writes are refused while there is still some left.
import { statfs } from "node:fs/promises";
import { StoaError } from "../../errors.ts";

export interface Space {
  freeBytes: number;
  totalBytes: number;
}

export interface FreeSpaceOptions {
  /** A folder on the disk. */
  folder: string;
  /** Below so much free space writes are refused, in MiB; `default` goes by the size of the disk. */
  minFreeMiB: number | "default";
  log: { warn(message: string): void; info(message: string): void };
  /** Reads the space of a disk; tests replace it. */
  read?: ((folder: string) => Promise<Space>) | undefined;
}

const MIB = 1024 * 1024;
/** How often a disk is looked at, in milliseconds. */
const lookMs = { least: 50, most: 1_000 };
/** The next look comes before anybody who writes so many bytes a millisecond (4 GiB/s) has reached the minimum. */
const fastestFill = 4 * MIB;
/** Writes come back at this multiple of the minimum, so that they do not come and go at its edge. */
const comeBackAt = 1.1;
/** When a caller should try again, in seconds. */
const retryAfterSeconds = 10;

/**
 * The default minimum, in bytes: 5 % of the disk, but 128 MiB at least and 256 MiB at most. What the server may still
 * write once no write begins (running transactions, undo, MySQL's redo log of up to 100 MiB, temporary tables) does not
 * depend on the size of the disk: of a large disk 5 % would be wasted, and of a small one they would not do.
 */
export function defaultMinFree(totalBytes: number): number {
  return Math.min(Math.max(totalBytes * 0.05, 128 * MIB), 256 * MIB);
}

/** Watches the free space of a disk, and says whether writes must be refused. */
export class FreeSpace {
  readonly #folder: string;
  readonly #minFreeMiB: number | "default";
  readonly #log: FreeSpaceOptions["log"];
  readonly #read: (folder: string) => Promise<Space>;
  #space: Space = { freeBytes: Number.NaN, totalBytes: Number.NaN };
  #isLow = false;
  /** Why the last look failed. What was known before still counts. */
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  private constructor({ folder, minFreeMiB, log, read = readSpace }: FreeSpaceOptions) {
    this.#folder = folder;
    this.#minFreeMiB = minFreeMiB;
    this.#log = log;
    this.#read = read;
  }

  /** Looks once, and then again and again until `stop`. */
  static async watch(options: FreeSpaceOptions): Promise<FreeSpace> {
    const watched = new FreeSpace(options);
    await watched.#look();
    return watched;
  }

  /** Free space in bytes, as of the last look; NaN before one has succeeded. */
  get freeBytes(): number {
    return this.#space.freeBytes;
  }

  /** Below so many free bytes writes are refused; NaN before a look has succeeded. */
  get minFreeBytes(): number {
    return this.#minFreeMiB === "default" ? defaultMinFree(this.#space.totalBytes) : this.#minFreeMiB * MIB;
  }

  /** What a write is answered with now; undefined while writes go on. */
  get refusal(): StoaError | undefined {
    if (!this.#isLow) return undefined;
    const message =
      "The disk of the service is almost full: it takes no writes until there is space again. Reads go on.";
    return new StoaError("unavailable", message, { retryAfterSeconds });
  }

  /** What to tell the operator; undefined while all is well. */
  get warning(): string | undefined {
    if (this.#isLow) {
      return (
        `The disk of the private database has ${inMiB(this.freeBytes)} MiB free, and writes need` +
        ` ${inMiB(this.minFreeBytes * comeBackAt)} MiB to come back: they are refused.`
      );
    }
    return this.#failure && `The free space of the private database's disk cannot be read: ${this.#failure}.`;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    try {
      this.#space = await this.#read(this.#folder);
      this.#failure = undefined;
      this.#judge();
    } catch (error) {
      const failure = (error as Error).message;
      if (failure !== this.#failure) this.#log.warn(`the free space of ${this.#folder} cannot be read: ${failure}`);
      this.#failure = failure;
    }
    if (this.#stopped) return;
    const untilFull = (this.freeBytes - this.minFreeBytes) / fastestFill;
    const isKnown = !Number.isNaN(untilFull);
    const delayMs = isKnown ? Math.min(Math.max(untilFull, lookMs.least), lookMs.most) : lookMs.most;
    this.#timer = setTimeout(() => void this.#look(), delayMs).unref();
  }

  #judge(): void {
    const wasLow = this.#isLow;
    this.#isLow = this.freeBytes < this.minFreeBytes * (wasLow ? comeBackAt : 1);
    if (this.#isLow && !wasLow) this.#log.warn(`${this.warning} Free space on the disk of ${this.#folder}.`);
    if (wasLow && !this.#isLow) {
      this.#log.info(`the disk of ${this.#folder} has ${inMiB(this.freeBytes)} MiB free; writes go on`);
    }
  }
}

/** What the disk of a folder has free for an ordinary account. */
async function readSpace(folder: string): Promise<Space> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

function inMiB(bytes: number): number {
  return Math.floor(bytes / MIB);
}
