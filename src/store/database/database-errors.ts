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
 * A row that a transaction waited for is gone: it was deleted, or moved to another table. The transaction may now hold a lock
 * on the gap that the row has left, so that the row cannot be moved back. If it then waited for the row in the other table,
 * it could deadlock. So the transaction runs again, as after a deadlock.
 */
export class RowMoved extends Error {
  override readonly name = "RowMoved";
  // The number of a deadlock, so that `isRetryable` and `toStoaError` treat this as one.
  readonly errno = 1213;
}

/** Whether the transaction may be run again: after a deadlock, a lock wait that took too long, or a conflict in a cluster. */
export function isRetryable(error: unknown): boolean {
  return serverErrorOf(error)?.remedy === "retry";
}

/**
 * Whether another connection may help: this server is read-only, cut off from its cluster or about to stop, or does not serve
 * this connection any more.
 */
export function isMisplaced(error: unknown): boolean {
  return serverErrorOf(error)?.remedy === "leave";
}

/** Whether the connection is closed or could not be opened. */
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
 * Whether a full-text search found more than innodb_ft_result_cache_limit allows: error 188 of MySQL, 128 of MariaDB.
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
      "The database did not say whether this call took effect. Repeat it under the same Idempotency-Key; if it had none," +
        " check first whether it took effect.",
      { retryAfterSeconds: 1, cause },
    );
  }
}

/**
 * Turns an error of the driver into StoaError `unavailable` if a later attempt may succeed, or StoredDamage if the schema lacks
 * something. Returns other errors unchanged.
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
