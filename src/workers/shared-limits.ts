import type { Decision } from "../rate-limits/gcra.ts";
import { type Limit, LocalLimit } from "../rate-limits/local-limit.ts";
import type { Policies, Policy } from "../rate-limits/policy.ts";
import type { LimitName } from "../rate-limits/quota.ts";
import type { StreamLimits } from "../rate-limits/stream-limits.ts";
import { type FullLimit, LocalStreamSlots, type StreamSlots } from "../rate-limits/stream-slots.ts";
import { Journal, type Position } from "./journal.ts";

/** The limits that all workers hold together; by the kinds of their entries. */
const limitKinds = { calls: 1, reads: 2, refusals: 3, credentials: 4 } as const;
type SharedName = keyof typeof limitKinds;
const sharedNames = Object.keys(limitKinds) as SharedName[];

/** Further kinds of entries: a stream begins or ends; a worker has ended. */
const streamBegins = 5;
const streamEnds = 6;
const writerEnds = 7;

/** How long a process may rely on what it has read, when it only looks at a limit, in milliseconds. */
const lookMs = 1;
/** How often a process reads what the others have written even if it has nothing to do, in milliseconds. */
const catchUpMs = 100;

/** Everything that the entries up to a position have led to. */
export interface LimitState {
  from: Position;
  arrivals: Record<SharedName, [string, number][]>;
  /** The open streams of each writer: how many of each holder. */
  streams: [number, [string, number][]][];
}

export interface SharedLimitsOptions {
  folder: string;
  writer: number;
  /** Undefined where nothing is limited. */
  policies: Policies | undefined;
  streams: StreamLimits;
  /** The time in milliseconds since 1970 (UTC), from a clock that all processes share and nobody sets. */
  now: () => number;
  /** The state at which this process begins; undefined for the first process of all. */
  state?: LimitState | undefined;
  /** Called when this process no longer needs the segments before this one. */
  onSegment?(segment: number): void;
  onFailure(error: unknown): void;
}

type Result = Decision | FullLimit | undefined;

/**
 * The limits of reads, calls, refusals, credentials and streams, which all workers hold together as one process would. Each
 * process has all of their state. It changes only by the entries of a journal, whose order all processes see, and the same
 * entries lead to the same state.
 */
export class SharedLimits {
  readonly #options: SharedLimitsOptions;
  readonly #limits: Partial<Record<SharedName, LocalLimit<string>>> = {};
  readonly #slots: LocalStreamSlots;
  readonly #streams = new Map<number, Map<string, number>>();
  readonly #journal: Journal<Result>;
  readonly #timer: NodeJS.Timeout;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(options: SharedLimitsOptions, segmentEntries?: number) {
    const { folder, writer, policies, now, state, onSegment, onFailure } = options;
    this.#options = options;
    this.#slots = new LocalStreamSlots(options.streams);
    for (const name of policies === undefined ? [] : sharedNames) {
      const limit = new LocalLimit<string>((policies as Policies)[name], now);
      limit.restore(state?.arrivals[name] ?? []);
      this.#limits[name] = limit;
    }
    for (const [holder, streams] of state?.streams ?? []) {
      for (const [key, count] of streams) for (let each = 0; each < count; each++) this.#begin(holder, key);
    }
    this.#journal = new Journal<Result>(
      {
        folder,
        writer,
        from: state?.from ?? { segment: 0, index: 0 },
        apply: ({ kind, time, amount, key }, from) => this.#apply(kind, time, amount, key, from),
        onSegment: (segment) => onSegment?.(segment),
        onFailure,
      },
      segmentEntries,
    );
    this.#timer = setInterval(() => this.#journal.catchUp(), catchUpMs).unref();
  }

  /** The limit of a policy that all processes hold together. */
  readonly limitOf = <Key extends string | number>(policy: Policy): Limit<Key> => {
    const kind = limitKinds[policy.name as SharedName];
    const limit = this.#limits[policy.name as SharedName];
    if (limit === undefined) throw new Error(`The workers do not share the limit ${policy.name satisfies LimitName}.`);
    const journal = this.#journal;
    return {
      policy,
      spend: (key, reserve = 0) => {
        const entry = { kind, time: this.#options.now(), amount: reserve, key: String(key) };
        this.#readAt = performance.now();
        return journal.append(entry) as Decision;
      },
      check: (key) => {
        this.#look();
        return limit.check(String(key));
      },
    };
  };

  /** The streams that all processes hold together. */
  readonly streams: StreamSlots = {
    take: (agent, address) => this.#append(streamBegins, holderOf(agent, address)) as FullLimit | undefined,
    release: (agent, address) => void this.#append(streamEnds, holderOf(agent, address)),
  };

  /** The number of the segment that this process reads. */
  get segment(): number {
    return this.#journal.position.segment;
  }

  /** Ends the streams of a process that has ended. It has written everything before. */
  forget(writer: number): void {
    this.#append(writerEnds, String(writer));
  }

  /** The state at which another process can begin. */
  state(): LimitState {
    this.#journal.catchUp();
    const arrivals = Object.fromEntries(
      sharedNames.map((name) => [name, [...(this.#limits[name]?.arrivals() ?? [])]]),
    ) as LimitState["arrivals"];
    const streams = [...this.#streams].map(([writer, counts]): [number, [string, number][]] => [writer, [...counts]]);
    return { from: this.#journal.position, arrivals, streams };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#journal.close();
  }

  #append(kind: number, key: string): Result {
    return this.#journal.append({ kind, time: this.#options.now(), amount: 0, key });
  }

  /** A request that comes so soon after the last look counts as one that came at the same time. */
  #look(): void {
    const now = performance.now();
    if (now - this.#readAt < lookMs) return;
    this.#readAt = now;
    this.#journal.catchUp();
  }

  #apply(kind: number, time: number, amount: number, key: string, writer: number): Result {
    if (kind === streamBegins) return this.#begin(writer, key);
    if (kind === streamEnds) return this.#end(writer, key);
    if (kind === writerEnds) return this.#endWriter(Number(key));
    const name = sharedNames[kind - 1] as SharedName;
    return this.#limits[name]?.spend(key, amount, time);
  }

  #begin(writer: number, key: string): FullLimit | undefined {
    const full = this.#slots.take(...partsOf(key));
    if (full !== undefined) return full;
    const counts = this.#streams.get(writer) ?? new Map<string, number>();
    counts.set(key, (counts.get(key) ?? 0) + 1);
    this.#streams.set(writer, counts);
    return undefined;
  }

  #end(writer: number, key: string): undefined {
    const counts = this.#streams.get(writer);
    const count = counts?.get(key) ?? 0;
    if (counts === undefined || count === 0) return;
    this.#slots.release(...partsOf(key));
    if (count > 1) counts.set(key, count - 1);
    else counts.delete(key);
  }

  #endWriter(writer: number): undefined {
    for (const [key, count] of this.#streams.get(writer) ?? []) {
      for (let each = 0; each < count; each++) this.#slots.release(...partsOf(key));
    }
    this.#streams.delete(writer);
  }
}

/** Names what a stream counts for: an agent, an address or nothing. */
function holderOf(agent: number | undefined, address: string | undefined): string {
  if (agent !== undefined) return `a${agent}`;
  return address === undefined ? "" : `i${address}`;
}

function partsOf(holder: string): [agent: number | undefined, address: string | undefined] {
  if (holder.startsWith("a")) return [Number(holder.slice(1)), undefined];
  return [undefined, holder === "" ? undefined : holder.slice(1)];
}
