import { type ChildProcess, fork } from "node:child_process";
import type { Socket } from "node:net";
import type { ToSupervisor, ToWorker, WorkerStart } from "./messages.ts";
import { Question } from "./question.ts";

/** What the supervisor does about a worker. */
export interface WorkerEvents<Settings, Metrics> {
  onReady(worker: WorkerProcess<Settings, Metrics>): void;
  /** The worker takes no further connections. */
  onLeaving(worker: WorkerProcess<Settings, Metrics>): void;
  /** The process has ended, and all its messages have arrived. */
  onEnded(worker: WorkerProcess<Settings, Metrics>, end: WorkerEnd): void;
  onTaken(id: number): void;
  onClosed(ids: number[]): void;
  onNoneIdle(): void;
  /** Reads the metrics of the whole service. */
  readMetrics(): Promise<string>;
  /** The worker has read all segments of the journal before `worker.segment`. */
  onSegment(): void;
}

/** How a worker has ended. */
export interface WorkerEnd {
  code: number | null;
  signal: string | null;
  /** Why its start has failed, if it has. */
  failure: string | undefined;
}

/** How long a worker may take to answer for its metrics, in milliseconds. */
const metricsTimeoutMs = 2_000;

/** A process that serves connections, as the supervisor sees it. */
export class WorkerProcess<Settings, Metrics> {
  /** The place of the worker, from 1 on. */
  readonly number: number;
  readonly writer: number;
  /** Resolves when the process has ended. */
  readonly ended: Promise<void>;
  /** The oldest segment of the journal that it needs. */
  segment: number;
  isReady = false;
  /** How many pings in a row it has not answered yet. */
  #unanswered = 0;
  readonly #child: ChildProcess;
  readonly #events: WorkerEvents<Settings, Metrics>;
  #failure: string | undefined;
  readonly #metrics = new Question<Metrics>(
    () => this.#send({ type: "metrics" }),
    metricsTimeoutMs,
    "the worker does not answer",
  );

  /** @param entry the path of the program of a worker */
  constructor(entry: string, start: WorkerStart<Settings>, events: WorkerEvents<Settings, Metrics>) {
    this.number = start.worker;
    this.writer = start.writer;
    this.segment = start.limits.from.segment;
    this.#events = events;
    // It has the flags and the environment of this process.
    this.#child = fork(entry, [], { serialization: "advanced" });
    this.#child.on("message", (message) => this.#receive(message as ToSupervisor<Metrics>));
    // A message to a process that has just ended cannot be sent.
    this.#child.on("error", () => {});
    this.ended = this.#watch();
    this.#send({ type: "start", start });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Hands a connection over. The socket stays open here, too. */
  send(id: number, socket: Socket): void {
    this.#child.send({ type: "connection", id }, socket, { keepOpen: true }, () => {});
  }

  closeIdle(): void {
    this.#send({ type: "closeIdle" });
  }

  /** Asks a worker that is ready for a sign of life. @returns how often in a row it has been asked before without one */
  ping(): number {
    if (!this.isReady) return 0;
    if (this.#unanswered === 0) this.#send({ type: "ping" });
    this.#unanswered += 1;
    return this.#unanswered - 1;
  }

  warn(warnings: [string, string | undefined][]): void {
    this.#send({ type: "warnings", warnings });
  }

  /** The values of the worker's metrics. @throws Error when it does not answer */
  values(): Promise<Metrics> {
    return this.#metrics.answer();
  }

  announceStop(): void {
    this.#send({ type: "stopAnnounced" });
  }

  stop(): void {
    this.#send({ type: "stop" });
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  #send(message: ToWorker<Settings>): void {
    if (this.#child.connected) this.#child.send(message as object, () => {});
  }

  #receive(message: ToSupervisor<Metrics>): void {
    const events = this.#events;
    switch (message.type) {
      case "ready":
        this.isReady = true;
        events.onReady(this);
        break;
      case "leaving":
        events.onLeaving(this);
        break;
      case "failed":
        this.#failure = message.message;
        break;
      case "taken":
        events.onTaken(message.id);
        break;
      case "closed":
        events.onClosed(message.ids);
        break;
      case "noneIdle":
        events.onNoneIdle();
        break;
      case "pong":
        this.#unanswered = 0;
        break;
      case "metrics":
        this.#metrics.resolve(message.metrics);
        break;
      case "allMetrics":
        void this.#answerMetrics();
        break;
      case "segment":
        this.segment = message.segment;
        events.onSegment();
        break;
    }
  }

  async #answerMetrics(): Promise<void> {
    const text = await this.#events.readMetrics().catch(() => undefined);
    this.#send({ type: "allMetrics", text });
  }

  async #watch(): Promise<void> {
    const exited = new Promise<WorkerEnd>((resolve) => {
      this.#child.once("exit", (code, signal) => resolve({ code, signal, failure: this.#failure }));
      // It could not be started at all.
      this.#child.once("error", ({ message }) => {
        if (this.#child.pid === undefined) resolve({ code: null, signal: null, failure: message });
      });
    });
    // The messages that a process has sent before its end may arrive after it.
    const silent = new Promise<void>((resolve) => this.#child.once("disconnect", resolve));
    const end = await exited;
    if (this.#child.connected) await silent;
    this.isReady = false;
    this.#events.onEnded(this, { ...end, failure: this.#failure ?? end.failure });
  }
}
