import { expect, it } from "vitest";
import { StoaError } from "../../../src/errors.ts";
import {
  isCommitInDoubt,
  isLost,
  isMisplaced,
  isRetryable,
  toStoaError,
} from "../../../src/store/database/database-errors.ts";

const serverError = (errno: number, sqlMessage = "text of the server") =>
  Object.assign(new Error(sqlMessage), { errno, sqlMessage });

// The numbers that mean it, and the texts that say so under numbers with other causes.
it.each([
  [1021, "Disk full (/tmp/#sql-1); waiting for someone to free some space... (errno: 28)"],
  [1114, "The table 'posts' is full"],
  [1030, 'Got error 28 "No space left on device" from storage engine InnoDB'],
  [3, 'Error writing file "/tmp/MYfd=1" (Errcode: 28 "No space left on device")'],
  [1004, "Can't create file '/tmp/x' (errno: 122 - Disk quota exceeded)"],
])("database error %i means a full disk and becomes `unavailable`", (errno, sqlMessage) => {
  const error = toStoaError(Object.assign(new Error(sqlMessage), { errno, sqlMessage }));
  expect(error).toBeInstanceOf(StoaError);
  expect(error).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
});

it.each([
  [1, "Can't create/write to file '/tmp/x' (Errcode: 13 \"Permission denied\")"],
  [1064, "You have an error in your SQL syntax near 'Errcode 28'"],
])("database error %i with another cause stays unchanged", (errno, sqlMessage) => {
  const error = Object.assign(new Error(sqlMessage), { errno, sqlMessage });
  expect(toStoaError(error)).toBe(error);
});

// One or two of each combination, and those that their text decides.
it.each<[number, string | undefined, ("retry" | "leave" | "doubt")[]]>([
  [1020, undefined, ["retry"]],
  [1205, undefined, ["retry", "doubt"]],
  [1213, undefined, ["retry"]],
  [3101, "Plugin instructed the server to rollback the current transaction.", ["retry"]],
  [1180, "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT", ["retry"]],
  [1180, 'Got error 149 "Lock deadlock; Retry transaction" during COMMIT', ["retry"]],
  [1180, 'Got error 5 "Input/output error" during COMMIT', ["leave", "doubt"]],
  [3100, "Error on observer while running replication hook 'before_commit'.", ["leave", "doubt"]],
  [1047, "WSREP has not yet prepared node for application use", ["leave", "doubt"]],
  [1290, "The MySQL server is running with the --super-read-only option", ["leave"]],
  // The server or the transaction is read-only.
  [1792, undefined, ["leave"]],
  [1836, undefined, ["leave"]],
  [1317, undefined, ["doubt"]],
  [1927, undefined, ["leave", "doubt"]],
  [1064, "Unknown trigger has an error in its body: 'Lock wait timeout exceeded'", ["leave"]],
  [1040, undefined, []],
])("database error %i (%s) is `unavailable`, and tells what may be done: %j", (errno, sqlMessage, remedies) => {
  const error = serverError(errno, sqlMessage);
  const found = { retry: isRetryable(error), leave: isMisplaced(error), doubt: isCommitInDoubt(error) };
  expect(Object.entries(found).flatMap(([name, is]) => (is ? [name] : []))).toEqual(remedies);
  expect(toStoaError(error)).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
});

it("a connection that is lost or cannot be made is told from an error of the server", () => {
  for (const code of ["ECONNREFUSED", "ECONNRESET", "PROTOCOL_CONNECTION_LOST", "EHOSTUNREACH", "ENOTFOUND"])
    expect(isLost(Object.assign(new Error("no"), { code })), code).toBe(true);
  expect(isLost(Object.assign(new Error("no"), { fatal: true }))).toBe(true);
  expect(isLost(serverError(1062))).toBe(false);
  expect(isLost(new Error("a mistake of ours"))).toBe(false);
});
