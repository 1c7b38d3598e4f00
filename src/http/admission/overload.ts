import { StoaError } from "../../errors.ts";
import type { OverloadLimits } from "../../rate-limits/overload-limits.ts";
import { MemoryProbe, type MemoryUse } from "./memory.ts";

export interface OverloadLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface OverloadOptions {
  limits: OverloadLimits;
  log: OverloadLog;
  /** Called at each look while the overload lasts: streams are to end. */
  onLasting(): void;
  /** Where the use of memory is read; by default this process. */
  probe?: Pick<MemoryProbe, "read" | "close"> | undefined;
}

/** How often the use of memory is looked at, in milliseconds. */
const lookMs = 250;
/** For how many looks an overload lasts before streams end. */
const looksBeforeEnds = 8;
/** An overload ends below this share of the limit where it begins. */
const endShare = 0.9;
const retryAfterSeconds = 5;

/**
 * Refuses new work while the process is short of memory, before V8 or the system ends it; after Envoy's overload manager
 * (https://www.envoyproxy.io/docs/envoy/latest/configuration/operations/overload_manager/overload_manager).
 */
export class Overload {
  readonly #limits: OverloadLimits;
  readonly #log: OverloadLog;
  readonly #onLasting: () => void;
  readonly #probe: OverloadOptions["probe"];
  readonly #timer: NodeJS.Timeout | undefined;
  /** How many looks in a row found an overload. */
  #looks = 0;

  constructor({ limits, log, onLasting, probe }: OverloadOptions) {
    this.#limits = limits;
    this.#log = log;
    this.#onLasting = onLasting;
    if (limits.heapShare === undefined && limits.residentBytes === undefined) return;
    this.#probe = probe ?? new MemoryProbe();
    this.#timer = setInterval(() => this.look(), lookMs).unref();
  }

  get isActive(): boolean {
    return this.#looks > 0;
  }

  /** To be called before new work begins. @throws StoaError `unavailable` */
  check(): void {
    if (this.#looks === 0) return;
    throw new StoaError("unavailable", "The service is short of memory; try again later.", { retryAfterSeconds });
  }

  /** Looks at the memory now; a timer does it regularly. */
  look(): void {
    const use = this.#probe?.read();
    if (use === undefined) return;
    const wasActive = this.isActive;
    this.#looks = this.#isOver(use, wasActive ? endShare : 1) ? this.#looks + 1 : 0;
    if (this.isActive !== wasActive) this.#tell(use);
    if (this.#looks > looksBeforeEnds) this.#onLasting();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#probe?.close();
  }

  #isOver({ heapLive, heapLimit, resident, external }: MemoryUse, share: number): boolean {
    const { heapShare, residentBytes } = this.#limits;
    if (heapShare !== undefined && heapLive >= heapLimit * heapShare * share) return true;
    if (residentBytes === undefined || resident < residentBytes * share) return false;
    // Memory that was freed and not given back to the system stays resident. It is used again, and is no reason to refuse.
    return heapLive + external >= (residentBytes * share) / 2;
  }

  #tell({ heapLive, heapLimit, resident, external }: MemoryUse): void {
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
