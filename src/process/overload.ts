import { StoaError } from "../errors.ts";
import { MemoryProbe, type MemoryUse } from "./memory.ts";

/** The memory use above which new work is refused. */
export interface OverloadLimits {
  /** The live heap as a share of what V8 may use, 0 to 1; undefined means no limit. */
  heapShare: number | undefined;
  /** The resident memory of the process, in bytes; undefined means no limit. */
  residentBytes: number | undefined;
}

export interface OverloadLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface OverloadOptions {
  limits: OverloadLimits;
  log: OverloadLog;
  /** Called at each check once an overload has lasted for some checks, to end streams. */
  onLasting(): void;
  /** Reads the use of memory; by default that of this process. */
  probe?: Pick<MemoryProbe, "read" | "close"> | undefined;
}

/** How often the use of memory is checked, in milliseconds. */
const checkMs = 250;
/** How many checks must find an overload before the next one ends streams. */
const checksBeforeEnds = 8;
/** An overload ends below this share of the limit at which it begins. */
const endShare = 0.9;
const retryAfterSeconds = 5;

/**
 * Refuses new work while the process is short of memory, before V8 or the system ends it. Modelled on Envoy's overload
 * manager (https://www.envoyproxy.io/docs/envoy/latest/configuration/operations/overload_manager/overload_manager).
 */
export class Overload {
  readonly #limits: OverloadLimits;
  readonly #log: OverloadLog;
  readonly #onLasting: () => void;
  readonly #probe: OverloadOptions["probe"];
  readonly #timer: NodeJS.Timeout | undefined;
  /** How many checks in a row have found an overload. */
  #found = 0;
  /** The error for new work, `unavailable`; undefined while there is no overload. */
  refusal: StoaError | undefined = undefined;

  constructor({ limits, log, onLasting, probe }: OverloadOptions) {
    this.#limits = limits;
    this.#log = log;
    this.#onLasting = onLasting;
    if (limits.heapShare === undefined && limits.residentBytes === undefined) return;
    this.#probe = probe ?? new MemoryProbe();
    this.#timer = setInterval(() => this.look(), checkMs).unref();
  }

  get isActive(): boolean {
    return this.refusal !== undefined;
  }

  /** Checks the memory now; a timer calls this regularly. */
  look(): void {
    const use = this.#probe?.read();
    if (use === undefined) return;
    const wasActive = this.isActive;
    this.#found = this.#isOver(use, wasActive ? endShare : 1) ? this.#found + 1 : 0;
    if (this.#found === 0) this.refusal = undefined;
    else
      this.refusal ??= new StoaError("unavailable", "The service is short of memory; try again later.", {
        retryAfterSeconds,
      });
    if (this.isActive !== wasActive) this.#report(use);
    if (this.#found > checksBeforeEnds) this.#onLasting();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#probe?.close();
  }

  #isOver({ heapLive, heapLimit, resident, external }: MemoryUse, share: number): boolean {
    const { heapShare, residentBytes } = this.#limits;
    if (heapShare !== undefined && heapLive >= heapLimit * heapShare * share) return true;
    if (residentBytes === undefined || resident < residentBytes * share) return false;
    // Resident memory includes freed memory that will be used again. So half the limit must really be in use.
    return heapLive + external >= (residentBytes * share) / 2;
  }

  #report({ heapLive, heapLimit, resident, external }: MemoryUse): void {
    const inMiB = (bytes: number) => Math.round(bytes / 1024 / 1024);
    const fields = {
      heapLiveMiB: inMiB(heapLive),
      heapLimitMiB: inMiB(heapLimit),
      residentMiB: inMiB(resident),
      externalMiB: inMiB(external),
    };
    if (this.isActive) this.#log.warn(fields, "short of memory: new work is refused");
    else this.#log.info(fields, "no longer short of memory");
  }
}
