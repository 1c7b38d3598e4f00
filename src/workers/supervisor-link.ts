import type { Socket } from "node:net";
import type { ToSupervisor, ToWorker, WorkerStart } from "./messages.ts";
import { Question } from "./question.ts";

/** What a worker does for the supervisor. */
export interface WorkerDuties<Metrics> {
  take(socket: Socket): void;
  /** @returns whether there was an idle connection */
  closeIdle(): boolean;
  warn(warnings: [name: string, text: string | undefined][]): void;
  metrics(): Promise<Metrics>;
}

/** How long the supervisor may take to answer for the metrics, in milliseconds. */
const metricsTimeoutMs = 5_000;

/** The supervisor, as a worker sees it. */
export class SupervisorLink<Settings, Metrics> {
  /** Resolves with what the worker is to serve. */
  readonly start: Promise<WorkerStart<Settings>>;
  /** Resolves when the service has announced that it will stop. */
  readonly stopAnnounced: Promise<void>;
  /** Resolves when the worker is to stop. */
  readonly stopped: Promise<void>;
  readonly #start = Promise.withResolvers<WorkerStart<Settings>>();
  readonly #stopAnnounced = Promise.withResolvers<void>();
  readonly #stopped = Promise.withResolvers<void>();
  #duties: WorkerDuties<Metrics> | undefined;
  #isLeaving = false;
  #warnings: [string, string | undefined][] = [];
  #closed: number[] = [];
  readonly #allMetrics = new Question<string>(
    () => this.#send({ type: "allMetrics" }),
    metricsTimeoutMs,
    "the supervisor does not answer",
  );

  /** @param onLost called when the supervisor has ended */
  constructor(onLost: () => void) {
    this.start = this.#start.promise;
    this.stopAnnounced = this.#stopAnnounced.promise;
    this.stopped = this.#stopped.promise;
    process.once("disconnect", onLost);
    process.on("message", (message, socket) =>
      this.#receive(message as ToWorker<Settings>, socket as Socket | undefined),
    );
    // Whatever else the flags of this process have loaded: the link keeps it alive.
    process.channel?.ref();
  }

  /** The worker can serve: connections come from now on. */
  ready(duties: WorkerDuties<Metrics>): void {
    this.#duties = duties;
    duties.warn(this.#warnings);
    this.#send({ type: "ready" });
  }

  /** The worker takes no further connections. */
  leave(): void {
    this.#isLeaving = true;
    this.#send({ type: "leaving" });
  }

  /** @param message one line for the operator */
  fail(message: string): void {
    this.#send({ type: "failed", message });
  }

  needsSegment(segment: number): void {
    this.#send({ type: "segment", segment });
  }

  /** The metrics of the whole service. @throws Error when they cannot be read */
  allMetrics(): Promise<string> {
    return this.#allMetrics.answer();
  }

  #send(message: ToSupervisor<Metrics>): void {
    if (process.connected) process.send?.(message, undefined, undefined, () => {});
  }

  #receive(message: ToWorker<Settings>, socket: Socket | undefined): void {
    switch (message.type) {
      case "start":
        this.#start.resolve(message.start);
        break;
      case "connection":
        this.#take(message.id, socket);
        break;
      case "closeIdle":
        if (this.#duties?.closeIdle() !== true) this.#send({ type: "noneIdle" });
        break;
      case "ping":
        this.#send({ type: "pong" });
        break;
      case "warnings":
        this.#warnings = message.warnings;
        this.#duties?.warn(message.warnings);
        break;
      case "metrics":
        void this.#answerMetrics();
        break;
      case "allMetrics":
        if (message.text === undefined) this.#allMetrics.reject(new Error("the metrics cannot be read"));
        else this.#allMetrics.resolve(message.text);
        break;
      case "stopAnnounced":
        this.#stopAnnounced.resolve();
        break;
      case "stop":
        this.#stopped.resolve();
        break;
    }
  }

  #take(id: number, socket: Socket | undefined): void {
    // This worker leaves and does not take it, so the supervisor gives it to another one.
    if (this.#isLeaving) {
      socket?.destroy();
      return;
    }
    // This comes before the first read, because the supervisor gives a connection that is not taken to another worker.
    this.#send({ type: "taken", id });
    if (socket === undefined || this.#duties === undefined) {
      socket?.destroy();
      this.#report(id);
      return;
    }
    socket.once("close", () => this.#report(id));
    this.#duties.take(socket);
  }

  /** Reports that a connection is closed, together with others of the same turn of the event loop. */
  #report(id: number): void {
    this.#closed.push(id);
    if (this.#closed.length > 1) return;
    setImmediate(() => {
      this.#send({ type: "closed", ids: this.#closed });
      this.#closed = [];
    });
  }

  async #answerMetrics(): Promise<void> {
    const metrics = await this.#duties?.metrics().catch(() => undefined);
    if (metrics !== undefined) this.#send({ type: "metrics", metrics });
  }
}
