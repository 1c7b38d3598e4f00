import { StoaError, StoredDamage } from "../../errors.ts";
import { findServerError, type ServerError } from "./server-errors.ts";

/** The parts of a mysql2 error that matter here. */
interface DriverError extends Error {
  code?: string;
  errno?: number;
  fatal?: boolean;
  sqlMessage?: string;
}

const clientFailures =
  /^(HANDSHAKE_|ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|PROTOCOL_)/;

/**
 * A row was moved to another table while a transaction waited for it. The transaction now holds a lock on the gap that the
 * row has left. If it waited for the row in the other table, the row could not be moved back. So the transaction is run
 * again, as after a deadlock.
 */
export class RowMoved extends Error {
  override readonly name = "RowMoved";
  // Code that does not know this class takes it for a deadlock.
  readonly errno = 1213;
}

/** A deadlock, a lock wait that took too long, or a conflict that a cluster has found: the transaction may be run again. */
export function isRetryable(error: unknown): boolean {
  return serverErrorOf(error)?.remedy === "retry";
}

/** Whether the server of this connection is the wrong one: it is read-only, cut off from its cluster, or about to stop. */
export function isMisplaced(error: unknown): boolean {
  return serverErrorOf(error)?.remedy === "leave";
}

/** Whether the connection is gone or could not be made. */
export function isLost(error: unknown): boolean {
  const { code, fatal, message } = error as DriverError;
  return (
    fatal === true || (code !== undefined && clientFailures.test(code)) || /^Can't add new command/.test(message ?? "")
  );
}

/** Whether a statement failed because the unique index `index` already has this value. */
export function isDuplicate(error: unknown, index: string): boolean {
  const { errno, sqlMessage } = error as DriverError;
  return errno === 1062 && sqlMessage !== undefined && sqlMessage.includes(index);
}

/** Whether a statement failed because it gave NULL to a column that takes none. */
export function isNullRefused(error: unknown): boolean {
  return (error as DriverError).errno === 1048;
}

/** Whether this error of COMMIT leaves its outcome unknown. */
export function isCommitInDoubt(error: unknown): boolean {
  return serverErrorOf(error)?.inDoubt === true;
}

/**
 * The error of a statement that failed because the schema lacks a table (1146, 1812, 1932), a column (1054) or an index
 * (1176); undefined if the failure has another reason.
 * @param error the driver's, or what `toStoaError` made of it
 */
export function schemaFaultOf(error: unknown): Error | undefined {
  const fault = (error instanceof StoaError ? error.cause : error) as DriverError | undefined;
  return [1054, 1146, 1176, 1812, 1932].includes(fault?.errno ?? 0) ? fault : undefined;
}

/**
 * Whether a full-text search has found more than the server may remember of one (innodb_ft_result_cache_limit): 188 of MySQL,
 * 128 of MariaDB.
 * @param error the driver's, or what `toStoaError` made of it
 */
export function hasFoundTooMuch(error: unknown): boolean {
  const { errno } = ((error instanceof StoaError ? error.cause : error) ?? {}) as DriverError;
  return errno === 188 || errno === 128;
}

/** COMMIT got no clear answer: the transaction may have taken effect. */
export class CommitInDoubt extends StoaError {
  constructor(cause: unknown) {
    super(
      "unavailable",
      "The database did not say whether this call took effect. Repeat it under the same Idempotency-Key.",
      { retryAfterSeconds: 1, cause },
    );
  }
}

/**
 * Turns an error of the driver into StoaError `unavailable` if trying again later makes sense, or the operator can restore
 * what is missing. Others stay as they are.
 */
export function toStoaError(error: unknown): unknown {
  if (error instanceof StoaError) return error;
  if (schemaFaultOf(error) !== undefined) {
    return new StoredDamage("The database lacks a table, a column or an index; the operator can restore it.", error);
  }
  const reason = serverErrorOf(error)?.reason ?? (isLost(error) ? "it cannot be reached" : undefined);
  if (reason === undefined) return error;
  return new StoaError("unavailable", `The database does not answer: ${reason}.`, {
    retryAfterSeconds: 1,
    cause: error,
  });
}

function serverErrorOf(error: unknown): ServerError | undefined {
  const { errno, sqlMessage } = error as DriverError;
  return findServerError(errno, sqlMessage);
}
