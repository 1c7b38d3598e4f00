import type { LimitState } from "./shared-limits.ts";

/** What a worker gets to begin with. `Settings` and `Metrics` are plain data that this layer hands on. */
export interface WorkerStart<Settings> {
  /** The place of the worker, from 1 on. A worker that is started again has the same. */
  worker: number;
  /** The number by which the worker marks its entries of the journal. */
  writer: number;
  /** The folder of the journal. */
  folder: string;
  limits: LimitState;
  settings: Settings;
}

/** From the supervisor to a worker. */
export type ToWorker<Settings> =
  | { type: "start"; start: WorkerStart<Settings> }
  /** The socket comes with the message. */
  | { type: "connection"; id: number }
  | { type: "closeIdle" }
  /** Asks for a sign of life. */
  | { type: "ping" }
  /** What the supervisor warns of, by the names of the warnings. */
  | { type: "warnings"; warnings: [name: string, text: string | undefined][] }
  /** Asks for the values of the worker's metrics. */
  | { type: "metrics" }
  /** The metrics of the whole service; undefined if they cannot be read. */
  | { type: "allMetrics"; text: string | undefined }
  /** The service will stop soon. The worker serves on until `stop`, but is not ready any more. */
  | { type: "stopAnnounced" }
  /** Ends the worker. Running calls may finish. */
  | { type: "stop" };

/** From a worker to the supervisor. */
export type ToSupervisor<Metrics> =
  | { type: "ready" }
  /** The worker takes no further connections, and will end. */
  | { type: "leaving" }
  /** The start has failed, with one line for the operator. */
  | { type: "failed"; message: string }
  | { type: "taken"; id: number }
  | { type: "closed"; ids: number[] }
  | { type: "noneIdle" }
  | { type: "pong" }
  | { type: "metrics"; metrics: Metrics }
  /** Asks for the metrics of the whole service. */
  | { type: "allMetrics" }
  /** The worker needs only this segment of the journal and later ones. */
  | { type: "segment"; segment: number };
