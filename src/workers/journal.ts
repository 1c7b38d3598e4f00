// A file that several processes append to and read: all of them see the same entries in the same order. The system appends
// the entries of different processes one after the other (O_APPEND), and the file is in memory (tmpfs) where the system has
// that. So a process agrees with the others on an order within one call, without waiting for another process.
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";

export interface Entry {
  /** From 1 to 255; what it means is up to the reader. */
  kind: number;
  /** In milliseconds since 1970 (UTC). */
  time: number;
  amount: number;
  /** At most 40 characters of Latin-1. */
  key: string;
}

/** The place of the next entry to read. */
export interface Position {
  segment: number;
  index: number;
}

export interface JournalOptions<Result> {
  /** The folder of the segments. */
  folder: string;
  /** The number by which this process marks its entries. No other process has ever used it. */
  writer: number;
  from: Position;
  /** Called with each entry, in the order that all processes see. */
  apply(entry: Entry, writer: number): Result;
  /** Called when all entries of a segment are read. This process needs only `segment` and later ones from then on. */
  onSegment?(segment: number): void;
  /** Called when the file can no longer be written or read. */
  onFailure(error: unknown): void;
}

/** An entry has a fixed length that divides a page of memory. So it is written as a whole, or not at all. */
const entryBytes = 64;
const keyOffset = 24;
const maxKeyLength = entryBytes - keyOffset;
/** A segment has this many entries (1 MiB). What is written behind them does not count. */
const defaultSegmentEntries = 16_384;
const readEntries = 1_024;

/** The path of a segment. */
export function segmentPath(folder: string, segment: number): string {
  return join(folder, `journal-${segment}`);
}

/** Appends entries to the journal, and applies all entries in their order. */
export class Journal<Result> {
  readonly #options: JournalOptions<Result>;
  readonly #segmentEntries: number;
  readonly #written = Buffer.alloc(entryBytes);
  readonly #read = Buffer.alloc(readEntries * entryBytes);
  #fd: number;
  #segment: number;
  #index: number;
  #sequence = 0;
  /** The entry that this process appends, until it is applied. */
  #own: Entry | undefined;
  #result: Result | undefined;
  #isFailing = false;
  #isClosed = false;

  constructor(options: JournalOptions<Result>, segmentEntries = defaultSegmentEntries) {
    this.#options = options;
    this.#segmentEntries = segmentEntries;
    this.#segment = options.from.segment;
    this.#index = options.from.index;
    this.#fd = this.#open(this.#segment);
  }

  /** The place of the next entry that this process has not applied. */
  get position(): Position {
    return { segment: this.#segment, index: this.#index };
  }

  /**
   * Appends an entry, and applies all entries up to it. If the file fails or is closed, the entry is applied in this process
   * only.
   * @returns what applying the entry returns
   */
  append(entry: Entry): Result {
    const { apply, writer } = this.#options;
    if (this.#isClosed) return apply(entry, writer);
    this.#own = entry;
    try {
      this.#encode(entry);
      // An entry that was written behind the end of a segment does not count, and is written to the next one.
      for (let moved = true; moved; ) {
        if (writeSync(this.#fd, this.#written, 0, entryBytes, null) !== entryBytes) throw new Error("a short write");
        moved = this.#apply();
        if (this.#own === undefined) return this.#done();
      }
      throw new Error("an entry that was written cannot be read");
    } catch (error) {
      this.#fail(error);
      // It may have been applied before the failure.
      if (this.#own === undefined) return this.#result as Result;
      this.#own = undefined;
      return apply(entry, writer);
    }
  }

  /** Applies the entries that other processes have appended. */
  catchUp(): void {
    if (this.#isClosed) return;
    try {
      while (this.#apply());
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The last calls of a process that stops may come after this. By then the system may have given the number of the file to another. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#fd);
  }

  #done(): Result {
    this.#isFailing = false;
    return this.#result as Result;
  }

  #fail(error: unknown): void {
    if (!this.#isFailing) this.#options.onFailure(error);
    this.#isFailing = true;
  }

  /** Applies what is in this segment. @returns whether it was read to its end: then there is another segment */
  #apply(): boolean {
    while (this.#index < this.#segmentEntries) {
      const most = Math.min(readEntries, this.#segmentEntries - this.#index);
      const bytes = readSync(this.#fd, this.#read, 0, most * entryBytes, this.#index * entryBytes);
      const count = Math.floor(bytes / entryBytes);
      for (let each = 0; each < count; each++) this.#applyAt(each * entryBytes);
      this.#index += count;
      if (count < most) return false;
    }
    const next = this.#open(this.#segment + 1);
    closeSync(this.#fd);
    this.#fd = next;
    this.#segment += 1;
    this.#index = 0;
    this.#options.onSegment?.(this.#segment);
    return true;
  }

  #applyAt(offset: number): void {
    const { apply, writer } = this.#options;
    const bytes = this.#read;
    const from = bytes.readUInt16LE(offset);
    if (from === writer) {
      // Only the entry that is being appended can be new: everything before it was read when it was written.
      const own = this.#own;
      if (own === undefined || bytes.readUInt32LE(offset + 4) !== this.#sequence) return;
      this.#own = undefined;
      this.#result = apply(own, writer);
      return;
    }
    const length = bytes[offset + 3] as number;
    const entry = {
      kind: bytes[offset + 2] as number,
      time: bytes.readDoubleLE(offset + 8),
      amount: bytes.readDoubleLE(offset + 16),
      key: bytes.toString("latin1", offset + keyOffset, offset + keyOffset + length),
    };
    apply(entry, from);
  }

  #encode({ kind, time, amount, key }: Entry): void {
    if (key.length > maxKeyLength) throw new Error(`the key of an entry is too long: ${key.length} characters`);
    this.#sequence = (this.#sequence + 1) >>> 0;
    const bytes = this.#written;
    bytes.writeUInt16LE(this.#options.writer, 0);
    bytes[2] = kind;
    bytes[3] = key.length;
    bytes.writeUInt32LE(this.#sequence, 4);
    bytes.writeDoubleLE(time, 8);
    bytes.writeDoubleLE(amount, 16);
    bytes.write(key, keyOffset, "latin1");
  }

  #open(segment: number): number {
    const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
    return openSync(segmentPath(this.#options.folder, segment), flags, 0o600);
  }
}
