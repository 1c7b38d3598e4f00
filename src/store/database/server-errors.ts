/** What the service needs to know about an error of the server. */
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

const diskFull: ServerError = { reason: "the disk is full" };
const conflict: ServerError = { reason: "too many conflicting writes", remedy: "retry" };

/**
 * Temporary errors of the server: https://mariadb.com/kb/en/mariadb-error-code-reference/ and
 * https://dev.mysql.com/doc/mysql-errors/9.7/en/server-error-reference.html. Up to 1900 they are the same in both engines.
 */
const known: readonly [error: ServerError, ...numbers: number[]][] = [
  [diskFull, 20, 1021, 1114, 3675],
  [{ reason: "the disk cannot be written" }, 3, 1026],
  [{ reason: "a temporary file cannot be written" }, 1878],
  [{ reason: "the storage engine reports an error" }, 1030],
  [{ reason: "out of memory" }, 128, 1037, 1041],
  [{ reason: "too many connections" }, 1040, 1203, 1226],
  // connect-failures.ts tells the operator more, who has changed the account, or let it be blocked.
  [{ reason: "it refuses new connections" }, 1044, 1045, 1049, 1129, 1130, 1698, 1820, 1862, 3118, 3159, 4151],
  [{ reason: "too many prepared statements" }, 1461],
  [{ reason: "too many transactions run" }, 1637],
  [{ reason: "the statement took too long" }, 1969, 3024],
  [{ reason: "the search was interrupted, or found too much" }, 188],
  [{ reason: "the statement was interrupted", inDoubt: true }, 1317],
  // 3101: in Group Replication, another member has changed the same rows.
  [conflict, 1020, 1213, 1412, 1615, 3101],
  [{ reason: "a lock was not granted in time", remedy: "retry", inDoubt: true }, 1205],
  [{ reason: "the server is locked against writes" }, 1223],
  [{ reason: "the server is read-only", remedy: "leave" }, 1290, 1792, 1836],
  [{ reason: "the server is offline", remedy: "leave" }, 3032],
  [{ reason: "the server is shutting down", remedy: "leave", inDoubt: true }, 1053],
  [{ reason: "the connection was killed", remedy: "leave", inDoubt: true }, 1927, 3169],
  [{ reason: "the connection was lost", remedy: "leave", inDoubt: true }, 1152, 1158, 1159, 1160, 1161, 1184],
  [{ reason: "the connection was idle for too long", remedy: "leave", inDoubt: true }, 4031],
  // A proxy has moved the connection to a server that does not know its prepared statements.
  [{ reason: "the connection was moved to another server", remedy: "leave" }, 1243],
  // 1047: a Galera node is not in its cluster (any more, or yet). 3092: a hook of Group Replication failed, as on a member that
  // has lost its group.
  [{ reason: "the node is not ready", remedy: "leave", inDoubt: true }, 1047, 3092, 3796, 3797, 3798],
  [{ reason: "the transaction could not be committed", remedy: "leave", inDoubt: true }, 1180, 3100],
];
const byNumber = new Map(known.flatMap(([error, ...numbers]) => numbers.map((number) => [number, error] as const)));

/** ENOSPC and EDQUOT in the texts of other errors, such as 1 and 1004 (a file could not be created). */
const diskFullText = /No space left on device|Disk quota exceeded|Errcode: (?:28|122)\b/;
/** Galera reports a conflict that it finds at COMMIT as error 149 within 1180, and MySQL as 1180 with the same text. */
const conflictText = /Lock deadlock; Retry transaction|Got error 149\b/;
/** After Galera has aborted a statement, MariaDB may be unable to run the triggers of its table any more (1064). */
const triggerText = /^Unknown trigger has an error in its body/;

/** What is known of an error by its number and text; undefined for errors that are not temporary. */
export function findServerError(errno: number | undefined, text = ""): ServerError | undefined {
  if (diskFullText.test(text)) return diskFull;
  if (errno === 1180 && conflictText.test(text)) return conflict;
  if (errno === 1064 && triggerText.test(text)) return { reason: "a trigger of the ledger is broken", remedy: "leave" };
  return errno === undefined ? undefined : byNumber.get(errno);
}
