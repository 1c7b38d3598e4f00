import type { Head } from "../../receipt/recovery.ts";
import type { HeadFile, HeadFolder, ServedHead } from "./head-folder.ts";

/** Writes the newest head to a file, one write at a time. Heads that arrive during a write share the next one. */
export class HeadStore {
  readonly #folder: HeadFolder;
  readonly #log: { warn(fields: object, message: string): void };
  /** The hash of receipt 1, once it is known. */
  ledger: string | undefined;
  /** Why files of this ledger cannot be read; undefined if all can. Nothing may be sealed while this is set. */
  damage: string | undefined;
  /** Why the newest head is not in a file; undefined if it is. */
  fault: string | undefined;
  /** The head to write, and how often it has changed. */
  #newest: ServedHead | undefined;
  #version = 0;
  #writtenVersion = 0;
  /** The head that is in a file; undefined before the first one is written. */
  storedHead: Head | undefined;
  /** The paths of the files that the next one replaces. */
  #files: readonly string[] = [];
  #writing: Promise<boolean> | undefined;

  constructor(folder: HeadFolder, log: { warn(fields: object, message: string): void }) {
    this.#folder = folder;
    this.#log = log;
  }

  /**
   * Reads the files of a ledger.
   * @param ids the possible hashes of its receipt 1
   * @returns the heads in them, and those of other ledgers in the same database
   */
  async load(ids: readonly string[]): Promise<ServedHead[]> {
    await this.#folder.sweep();
    const { heads, damaged } = await this.#read();
    const own = heads.filter(({ ledger }) => ids.includes(ledger));
    this.ledger ??= own[0]?.ledger ?? ids[0];
    const bad = damaged.filter((path) => ids.some((id) => this.#folder.isNamedFor(path, id)));
    this.damage =
      bad.length === 0
        ? undefined
        : `${bad.join(" and ")} cannot be read, and may name a receipt that was served: restore it, or move it away.`;
    const others = heads.filter(({ ledger, database }) => !ids.includes(ledger) && database === this.#folder.database);
    const found = [...own, ...others];
    this.#files = found.map(({ path }) => path);
    // A single file is already correct. It stays until there is a newer head.
    if (found.length === 1) this.storedHead ??= own[0];
    return found;
  }

  /** @throws Error if this database had a ledger before: it is empty now */
  async refuseEmpty(): Promise<void> {
    const { heads } = await this.#read();
    const [lost] = heads.filter(({ database }) => database === this.#folder.database).sort((a, b) => b.seq - a.seq);
    if (lost === undefined) return;
    throw new Error(
      `The database is empty, and has had a ledger of ${lost.seq} receipts. Restore it from a backup; or remove` +
        ` ${lost.path} to begin a new ledger.`,
    );
  }

  /** Sets the head that the next `flush` writes. A head that was set before is not written again. */
  set(head: ServedHead): void {
    // An operator's command may have replaced its file, which must not come back.
    if (this.#newest?.seq === head.seq && this.#newest.hash === head.hash) return;
    this.#newest = head;
    this.#version += 1;
  }

  /**
   * Resolves when the head that was set is in a file and older files are gone, or when it could not be written; `fault`
   * then says why.
   */
  async flush(): Promise<void> {
    const version = this.#version;
    await this.#writing;
    while (this.#writtenVersion < version) {
      this.#writing ??= this.#write().finally(() => {
        this.#writing = undefined;
      });
      if (!(await this.#writing)) return;
    }
  }

  /** Resolves when no write is running. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<boolean> {
    const { ledger } = this;
    const head = this.#newest;
    const version = this.#version;
    if (ledger === undefined || head === undefined) return false;
    try {
      const { path } = await this.#folder.write({ ...head, ledger, database: this.#folder.database });
      this.storedHead = head;
      this.#writtenVersion = version;
      this.fault = undefined;
      const old = this.#files.filter((each) => each !== path);
      this.#files = [path];
      await this.#folder.remove(old);
      return true;
    } catch (error) {
      this.#fail("written", error);
      return this.#writtenVersion === version;
    }
  }

  async #read(): Promise<{ heads: HeadFile[]; damaged: string[] }> {
    try {
      return await this.#folder.read();
    } catch (error) {
      this.#fail("read", error);
      return { heads: [], damaged: [] };
    }
  }

  #fail(what: "read" | "written", error: unknown): void {
    // The message ends with the name of the file, which differs each time. Without that, a lasting fault is logged once.
    const [reason] = (error as Error).message.split(",");
    const text =
      "The newest receipt that was served is not remembered, so that a restored backup may go unnoticed:" +
      ` the head files in ${this.#folder.path} cannot be ${what} (${reason}).`;
    if (text !== this.fault) this.#log.warn({}, text);
    this.fault = text;
  }
}
