import { mkdtempSync, rmSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep } from "../timing/wait.ts";
import { segmentPath } from "./journal.ts";
import type { WorkerStart } from "./messages.ts";
import type { SharedLimits } from "./shared-limits.ts";
import { type WorkerEnd, type WorkerEvents, WorkerProcess } from "./worker-process.ts";

export interface SupervisorLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface SupervisorOptions<Settings, Metrics> {
  /** The path of the program of a worker. */
  entry: string;
  /** How many workers there are. */
  count: number;
  /** The folder of the journal. */
  folder: string;
  /** The supervisor's own view of the limits. */
  limits: SharedLimits;
  /** What a worker gets, by its place. */
  settingsOf(worker: number): Settings;
  /** What the supervisor warns of. */
  warnings(): [name: string, text: string | undefined][];
  log: SupervisorLog;
  /** A worker takes connections from now on. */
  onReady(worker: WorkerProcess<Settings, Metrics>): void;
  /** A worker takes no further connections. */
  onLeaving(worker: WorkerProcess<Settings, Metrics>): void;
  /** A worker has ended. */
  onEnded(worker: WorkerProcess<Settings, Metrics>): void;
  onTaken(id: number): void;
  onClosed(ids: number[]): void;
  onNoneIdle(): void;
  readMetrics(): Promise<string>;
}

/** The folder of memory that Linux shares between processes. */
const sharedMemory = "/dev/shm";
/** How long the supervisor waits before it starts a worker again, in milliseconds: longer each time that it ends soon. */
const firstPauseMs = 100;
const maxPauseMs = 30_000;
/** A worker that has run for so long did not end soon, in milliseconds. */
const steadyMs = 60_000;
/** How often the warnings are compared, and the workers are pinged, in milliseconds. */
const lookMs = 500;
/** A worker that is so many segments of the journal behind does not run, and is ended. */
const maxSegmentsBehind = 32;
/** The same for one that has not answered a ping for so many looks: 10 s, in which this process runs. */
const maxUnanswered = 20;

const maxWriter = 65_535;

/** Creates the folder of a journal: in memory, if the system has that. */
export async function createJournalFolder(): Promise<string> {
  const parent = await access(sharedMemory, constants.W_OK).then(
    () => sharedMemory,
    () => tmpdir(),
  );
  return mkdtempSync(join(parent, "stoa-limits-"));
}

/** Removes the folder of a journal. Those who still read it are not disturbed. */
export function removeJournalFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Runs the workers: it starts each of them, starts it again when it has ended, and ends them all. */
export class Supervisor<Settings, Metrics> {
  readonly #options: SupervisorOptions<Settings, Metrics>;
  /** By their places. */
  readonly #workers = new Map<number, WorkerProcess<Settings, Metrics>>();
  readonly #stopping = new AbortController();
  readonly #started = Promise.withResolvers<void>();
  readonly #timer: NodeJS.Timeout;
  #hasStarted = false;
  #isStopAnnounced = false;
  #lastWriter = 0;
  #removedSegments = 0;
  #warnings = "";

  constructor(options: SupervisorOptions<Settings, Metrics>) {
    this.#options = options;
    // Who does not wait for the start is not told of its failure.
    this.#started.promise.catch(() => {});
    for (let worker = 1; worker <= options.count; worker++) void this.#run(worker);
    this.#timer = setInterval(() => this.#look(), lookMs).unref();
  }

  /** Resolves when every worker serves. @throws Error with one line for the operator when one cannot start */
  get started(): Promise<void> {
    return this.#started.promise;
  }

  /** Tells all workers, also those that start later, that the service will stop soon. */
  announceStop(): void {
    this.#isStopAnnounced = true;
    for (const worker of this.#workers.values()) worker.announceStop();
  }

  /** Asks all workers to stop, and resolves when they have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the service is stopping"));
    clearInterval(this.#timer);
    this.#started.reject(this.#stopping.signal.reason);
    const running = [...this.#workers.values()];
    for (const worker of running) worker.stop();
    await Promise.all(running.map(({ ended }) => ended));
  }

  /** Ends all workers at once. */
  kill(): void {
    for (const worker of this.#workers.values()) worker.kill();
  }

  /** Keeps one place occupied until the stop. */
  async #run(number: number): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!this.#stopping.signal.aborted) {
      const begun = performance.now();
      const { code, signal, failure } = await this.#serve(number);
      if (this.#stopping.signal.aborted) return;
      if (!this.#hasStarted) {
        const reason = failure ?? `it ended with ${signal ?? `exit code ${code}`}`;
        return this.#started.reject(new Error(`Worker ${number} could not start: ${reason}`));
      }
      if (performance.now() - begun >= steadyMs) pauseMs = firstPauseMs;
      const { log } = this.#options;
      log.error({ worker: number, code, signal, failure, pauseMs }, "a worker has ended and will be started again");
      await sleep(pauseMs, this.#stopping.signal).catch(() => {});
      pauseMs = Math.min(2 * pauseMs, maxPauseMs);
    }
  }

  /** Starts a worker, and resolves when it has ended. */
  #serve(number: number): Promise<WorkerEnd> {
    const { entry, folder, limits, settingsOf, warnings, onReady, onLeaving, onEnded } = this.#options;
    const { promise, resolve } = Promise.withResolvers<WorkerEnd>();
    const writer = this.#newWriter();
    const start: WorkerStart<Settings> = {
      worker: number,
      writer,
      folder,
      limits: limits.state(),
      settings: settingsOf(number),
    };
    const events: WorkerEvents<Settings, Metrics> = {
      ...this.#options,
      onReady: (worker) => {
        worker.warn(warnings());
        if (this.#isStopAnnounced) worker.announceStop();
        onReady(worker);
        this.#countReady();
      },
      onLeaving,
      onEnded: (worker, end) => {
        this.#workers.delete(number);
        limits.forget(writer);
        onEnded(worker);
        this.#removeSegments();
        resolve(end);
      },
      onSegment: () => this.#removeSegments(),
    };
    try {
      this.#workers.set(number, new WorkerProcess(entry, start, events));
    } catch (error) {
      // The system refuses another process, for want of memory. It may have some later.
      limits.forget(writer);
      resolve({ code: null, signal: null, failure: (error as Error).message });
    }
    return promise;
  }

  /** A number that no running process has. The supervisor has 0. */
  #newWriter(): number {
    const used = new Set([...this.#workers.values()].map(({ writer }) => writer));
    do this.#lastWriter = (this.#lastWriter % maxWriter) + 1;
    while (used.has(this.#lastWriter));
    return this.#lastWriter;
  }

  #countReady(): void {
    const ready = [...this.#workers.values()].filter(({ isReady }) => isReady).length;
    if (ready < this.#options.count) return;
    this.#hasStarted = true;
    this.#started.resolve();
  }

  /** Tells the workers of new warnings, and ends those that do not run. */
  #look(): void {
    const { warnings, limits, log } = this.#options;
    const current = warnings();
    const text = JSON.stringify(current);
    const hasChanged = text !== this.#warnings;
    this.#warnings = text;
    for (const worker of this.#workers.values()) {
      if (hasChanged && worker.isReady) worker.warn(current);
      const isSilent = worker.ping() >= maxUnanswered;
      if (!isSilent && limits.segment - worker.segment <= maxSegmentsBehind) continue;
      log.error({ worker: worker.number }, "a worker does not run, and is ended");
      worker.kill();
    }
    this.#removeSegments();
  }

  /** Removes the segments of the journal that nobody needs any longer. */
  #removeSegments(): void {
    const needed = Math.min(this.#options.limits.segment, ...[...this.#workers.values()].map(({ segment }) => segment));
    for (; this.#removedSegments < needed; this.#removedSegments++) {
      rmSync(segmentPath(this.#options.folder, this.#removedSegments), { force: true });
    }
  }
}
