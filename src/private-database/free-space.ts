// The free space on the disk of the private database. InnoDB ends the server when it cannot write, and needs space to
// start again. So the service refuses writes while some space is still left.
import { statfs } from "node:fs/promises";
import { StoaError } from "../errors.ts";

export interface Space {
  freeBytes: number;
  totalBytes: number;
}

export interface FreeSpaceOptions {
  /** A folder on the disk. */
  folder: string;
  /** With less free space than this, in MiB, writes are refused; for `default` see `defaultMinFree`. */
  minFreeMiB: number | "default";
  log: { warn(message: string): void; info(message: string): void };
  /** Reads the space of a disk; tests replace it. */
  read?: ((folder: string) => Promise<Space>) | undefined;
}

const MIB = 1024 * 1024;
/** The shortest and the longest time between two looks at the disk, in milliseconds. */
const lookMs = { min: 50, max: 1_000 };
/** How fast a disk may fill, in bytes per millisecond (4 GiB/s). It decides how soon the next look comes. */
const maxFillRate = 4 * MIB;
/** Writes are allowed again at this multiple of the minimum, so that they do not switch on and off all the time. */
const resumeFactor = 1.1;

/**
 * The default minimum, in bytes: 5 % of the disk, but at least 128 MiB and at most 256 MiB. After the last accepted
 * write the server may still write: running transactions, undo, MySQL's redo log of up to 100 MiB, temporary tables.
 * That does not depend on the size of the disk, hence the two bounds.
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
  /** Why the last look failed; the result of the one before still counts. */
  #failure: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  private constructor({ folder, minFreeMiB, log, read = readSpace }: FreeSpaceOptions) {
    this.#folder = folder;
    this.#minFreeMiB = minFreeMiB;
    this.#log = log;
    this.#read = read;
  }

  /** Watches a disk until `stop`. */
  static async watch(options: FreeSpaceOptions): Promise<FreeSpace> {
    const watched = new FreeSpace(options);
    await watched.#look();
    return watched;
  }

  /** Free space in bytes, as of the last look; NaN before one has succeeded. */
  get freeBytes(): number {
    return this.#space.freeBytes;
  }

  /** With fewer free bytes than this, writes are refused; NaN before a look has succeeded. */
  get minFreeBytes(): number {
    return this.#minFreeMiB === "default" ? defaultMinFree(this.#space.totalBytes) : this.#minFreeMiB * MIB;
  }

  /** Whether writes must be refused now. */
  get isLow(): boolean {
    return this.#isLow;
  }

  /** The error for a write now; undefined while writes are allowed. */
  readonly refusal = (): StoaError | undefined => {
    if (!this.#isLow) return undefined;
    const message =
      "The disk of the service is almost full. Writes are refused until there is space again. Reads still work.";
    return new StoaError("unavailable", message, { retryAfterSeconds: 10 });
  };

  /** What the operator should know; undefined while nothing is wrong. */
  get warning(): string | undefined {
    if (this.#isLow) {
      return (
        `The disk of the private database has ${inMiB(this.freeBytes)} MiB free. Writes are refused until it has` +
        ` ${inMiB(this.minFreeBytes * resumeFactor)} MiB.`
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
      this.#update();
    } catch (error) {
      const failure = (error as Error).message;
      if (failure !== this.#failure) this.#log.warn(`the free space of ${this.#folder} cannot be read: ${failure}`);
      this.#failure = failure;
    }
    if (this.#stopped) return;
    const untilFullMs = (this.freeBytes - this.minFreeBytes) / maxFillRate;
    const isKnown = !Number.isNaN(untilFullMs);
    const delayMs = isKnown ? Math.min(Math.max(untilFullMs, lookMs.min), lookMs.max) : lookMs.max;
    this.#timer = setTimeout(() => void this.#look(), delayMs).unref();
  }

  #update(): void {
    const wasLow = this.#isLow;
    this.#isLow = this.freeBytes < this.minFreeBytes * (wasLow ? resumeFactor : 1);
    if (this.#isLow && !wasLow) this.#log.warn(`${this.warning} Free space on the disk of ${this.#folder}.`);
    if (wasLow && !this.#isLow) {
      this.#log.info(`the disk of ${this.#folder} has ${inMiB(this.freeBytes)} MiB free; writes are accepted again`);
    }
  }
}

/** The space of a folder's disk; as free counts only what an ordinary account may use. */
async function readSpace(folder: string): Promise<Space> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

function inMiB(bytes: number): number {
  return Math.floor(bytes / MIB);
}
