/** What a service has to know of an error of the server. */
export interface ServerError {
  /** A few words that may be published. */
  reason: string;
  /**
   * `retry`: the transaction has lost against another one and is rolled back, so it may run again.
   * `leave`: this server does not serve this connection any more, or takes no writes. Another connection may reach a
   * server that does.
   */
  remedy?: "retry" | "leave";
  /** Whether this error of COMMIT leaves open whether the transaction has taken effect. */
  inDoubt?: true;
}

const conflict: ServerError = { reason: "too many conflicting writes", remedy: "retry" };
const diskFull: ServerError = { reason: "the disk is full" };
const noMemory: ServerError = { reason: "out of memory" };
const tooMany: ServerError = { reason: "too many connections" };
const tooLong: ServerError = { reason: "the statement took too long" };
const readOnly: ServerError = { reason: "the server is read-only", remedy: "leave" };
const killed: ServerError = { reason: "the connection was killed", remedy: "leave", inDoubt: true };
const brokenOff: ServerError = { reason: "the connection was lost", remedy: "leave", inDoubt: true };
const stopping: ServerError = { reason: "the server is shutting down", remedy: "leave", inDoubt: true };
const notReady: ServerError = { reason: "the node is not ready", remedy: "leave", inDoubt: true };
const notCommitted: ServerError = {
  reason: "the transaction could not be committed",
  remedy: "leave",
  inDoubt: true,
};

/**
 * Temporary errors of the server: https://mariadb.com/kb/en/mariadb-error-code-reference/ and
 * https://dev.mysql.com/doc/mysql-errors/9.7/en/server-error-reference.html. Up to 1900 they are the same in both engines.
 */
const byNumber = new Map<number, ServerError>([
  [3, { reason: "the disk cannot be written" }],
  [20, diskFull],
  [128, noMemory],
  [188, { reason: "the search was interrupted, or found too much" }],
  [1020, conflict],
  [1021, diskFull],
  [1026, { reason: "the disk cannot be written" }],
  [1030, { reason: "the storage engine reports an error" }],
  [1037, noMemory],
  [1040, tooMany],
  [1041, noMemory],
  // Of Galera: the node has left the cluster, or has not joined it yet.
  [1047, notReady],
  [1053, stopping],
  [1114, diskFull],
  [1152, brokenOff],
  [1158, brokenOff],
  [1159, brokenOff],
  [1160, brokenOff],
  [1161, brokenOff],
  [1180, notCommitted],
  [1184, brokenOff],
  [1203, tooMany],
  [1205, { reason: "a lock was not granted in time", remedy: "retry", inDoubt: true }],
  [1213, conflict],
  [1223, { reason: "the server is locked against writes" }],
  [1226, tooMany],
  // A proxy has moved the connection to a server that does not know its prepared statements.
  [1243, { reason: "the connection was moved to another server", remedy: "leave" }],
  [1290, readOnly],
  [1317, { reason: "the statement was interrupted", inDoubt: true }],
  [1412, conflict],
  [1615, conflict],
  [1637, { reason: "too many transactions run" }],
  [1792, readOnly],
  [1836, readOnly],
  [1878, { reason: "a temporary file cannot be written" }],
  [1927, killed],
  [1969, tooLong],
  [3024, tooLong],
  [3032, { reason: "the server is offline", remedy: "leave" }],
  // Of Group Replication: a hook of the plugin has failed, as on a member that has lost its group.
  [3092, notReady],
  [3100, notCommitted],
  // Of Group Replication: another member has changed the same rows.
  [3101, conflict],
  [3169, killed],
  [3675, diskFull],
  [3796, notReady],
  [3797, notReady],
  [3798, notReady],
  [4031, { reason: "the connection was idle for too long", remedy: "leave", inDoubt: true }],
]);

/** ENOSPC and EDQUOT in the text of other errors, such as 1 and 1004: a file could not be created. */
const diskFullText = /No space left on device|Disk quota exceeded|Errcode: (?:28|122)\b/;
/** Galera reports a conflict that it finds at COMMIT as error 149 within 1180, and MySQL as 1180 with the same text. */
const conflictText = /Lock deadlock; Retry transaction|Got error 149\b/;
/** After Galera has aborted a statement, MariaDB may keep a trigger of its table that it cannot run (1064). */
const triggerText = /^Unknown trigger has an error in its body/;

/** What is known of an error by its number and text; undefined for errors that are not temporary. */
export function findServerError(errno: number | undefined, text = ""): ServerError | undefined {
  if (diskFullText.test(text)) return diskFull;
  if (errno === 1180 && conflictText.test(text)) return conflict;
  if (errno === 1064 && triggerText.test(text)) return { reason: "a trigger of the ledger is broken", remedy: "leave" };
  return errno === undefined ? undefined : byNumber.get(errno);
}
