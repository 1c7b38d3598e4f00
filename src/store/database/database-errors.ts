import { StoaError, StoredDamage } from "../../errors.ts";

/** The parts of a mysql2 error that matter here. */
interface DriverError extends Error {
  code?: string;
  errno?: number;
  fatal?: boolean;
  sqlMessage?: string;
}

/** Temporary errors of the server: https://mariadb.com/kb/en/mariadb-error-code-reference/, the same in MySQL. */
const unavailable = new Map<number, string>([
  [3, "the disk cannot be written"],
  [20, "the disk is full"],
  [128, "out of memory"],
  [188, "the search was interrupted, or found too much"],
  [1021, "the disk is full"],
  [1026, "the disk cannot be written"],
  [1030, "the storage engine reports an error"],
  [1037, "out of memory"],
  [1040, "too many connections"],
  [1041, "out of memory"],
  [1047, "the node is not ready"],
  [1053, "the server is shutting down"],
  [1114, "the disk is full"],
  [1180, "the transaction could not be committed"],
  [1203, "too many connections"],
  [1205, "a lock was not granted in time"],
  [1213, "too many conflicting writes"],
  [1226, "too many connections"],
  [1290, "the server is read-only"],
  [1317, "the statement was interrupted"],
  [1637, "too many transactions run"],
  [1792, "the server is read-only"],
  [1836, "the server is read-only"],
  [1878, "a temporary file cannot be written"],
  [1927, "the connection was killed"],
  [1969, "the statement took too long"],
  [3024, "the statement took too long"],
  [3675, "the disk is full"],
  [4031, "the connection was idle for too long"],
]);

/** ENOSPC and EDQUOT in the text of other errors, such as 1 and 1004: a file could not be created. */
const diskFull = /No space left on device|Disk quota exceeded|Errcode: (?:28|122)\b/;

const clientFailures =
  /^(HANDSHAKE_|ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|PROTOCOL_)/;

/**
 * A row has left its table while a transaction waited for it. That transaction holds a lock on the place where the row was,
 * and would block the way back if it waited for the row elsewhere. So it is run again, as after a deadlock.
 */
export class RowMoved extends Error {
  override readonly name = "RowMoved";
  // To others than `Database` it is a deadlock.
  readonly errno = 1213;
}

/** A deadlock (1213) or a lock wait that took too long (1205): the transaction may be run again. */
export function isRetryable(error: unknown): boolean {
  const { errno } = error as DriverError;
  return errno === 1213 || errno === 1205;
}

/** Whether a statement failed because the unique index `index` already has this value. */
export function isDuplicate(error: unknown, index: string): boolean {
  const { errno, sqlMessage } = error as DriverError;
  return errno === 1062 && sqlMessage !== undefined && sqlMessage.includes(index);
}

/** Whether COMMIT failed in a way that leaves its outcome unknown. */
export function isCommitInDoubt(error: unknown): boolean {
  return (error as DriverError).errno === 1180;
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

/** The error of a transaction whose COMMIT got no clear answer. */
export function outcomeUnknown(cause: unknown): StoaError {
  return new StoaError(
    "unavailable",
    "The database did not say whether this call took effect. Repeat it under the same Idempotency-Key.",
    { retryAfterSeconds: 1, cause },
  );
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
  const { errno, code, fatal, message, sqlMessage } = error as DriverError;
  const reason =
    (diskFull.test(sqlMessage ?? "") ? "the disk is full" : undefined) ??
    (errno === undefined ? undefined : unavailable.get(errno)) ??
    (fatal === true || (code !== undefined && clientFailures.test(code)) || /^Can't add new command/.test(message ?? "")
      ? "it cannot be reached"
      : undefined);
  if (reason === undefined) return error;
  return new StoaError("unavailable", `The database does not answer: ${reason}.`, {
    retryAfterSeconds: 1,
    cause: error,
  });
}

/** Why connecting failed because of TLS, for the operator; undefined when TLS is not the reason. */
export function tlsFailure(error: unknown): string | undefined {
  const { code, message } = ((error as Error).cause ?? error) as DriverError;
  if (code === "HANDSHAKE_NO_SSL_SUPPORT") return "it offers no TLS";
  return code === "HANDSHAKE_SSL_ERROR" ? `TLS failed: ${message}` : undefined;
}

/** Describes a failure in a few words that may be published. Errors of the driver name accounts and hosts. */
export function explainFailure(error: unknown): string {
  const { errno, code } = (error instanceof StoaError && error.cause ? error.cause : error) as DriverError;
  if (errno === 1045 || errno === 1044) return "it refuses the account";
  if (errno === 1142 || errno === 1143) return "the account lacks a right on a table";
  const known = errno === undefined ? undefined : unavailable.get(errno);
  if (known !== undefined) return known;
  return error instanceof StoaError ? "it cannot be reached, or not in time" : `error ${errno ?? code ?? "unknown"}`;
}
