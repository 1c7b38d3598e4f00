import { TlogError, type TlogFault } from "../../tlog/error.ts";

/** What can be wrong with a log that is read from a service or a mirror. */
export type LogFault =
  | TlogFault
  /** The log, its checkpoint or the proof of a published entry is not there. */
  | "gone"
  /** The log has fewer entries than it had. */
  | "shrunk"
  /** A tile or bundle of the tree that the log has signed is not there. */
  | "missing_tile"
  /** Something that must have an entry has none. */
  | "not_logged"
  /** A receipt has another root of the log than the log itself, or none, or what it says of the log is malformed. */
  | "wrong_root";

/** A log does not verify. The message is one line for people, without control characters. */
export class LogFinding extends Error {
  override readonly name = "LogFinding";
  readonly fault: LogFault;
  /** The receipt that contradicts the log, or that the log lacks. */
  readonly seq: number | undefined;

  constructor(fault: LogFault, message: string, seq?: number) {
    super(message);
    this.fault = fault;
    this.seq = seq;
  }
}

/** The finding that an error reports; undefined for other errors, which say nothing of the log. */
export function findingOf(error: unknown): LogFinding | undefined {
  if (error instanceof LogFinding) return error;
  return error instanceof TlogError ? new LogFinding(error.code, error.message) : undefined;
}
