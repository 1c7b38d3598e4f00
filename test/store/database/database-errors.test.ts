import { expect, it } from "vitest";
import { StoaError } from "../../../src/errors.ts";
import { toStoaError } from "../../../src/store/database/database-errors.ts";

it.each([
  [1021, "Disk full (/tmp/#sql-1); waiting for someone to free some space... (errno: 28)"],
  [1114, "The table 'posts' is full"],
  [3675, "Create table/tablespace 'posts' failed, as disk is full."],
  [1030, 'Got error 28 "No space left on device" from storage engine InnoDB'],
  [1026, "Error writing file '/data/x' (errno: 28 - No space left on device)"],
  [3, 'Error writing file "/tmp/MYfd=1" (Errcode: 28 "No space left on device")'],
  [20, "Disk is full writing '/data/x' (Errcode: 28). Waiting for someone to free space..."],
  [1, "Can't create/write to file '/tmp/#sql_1.MAI' (Errcode: 28 \"No space left on device\")"],
  [1004, "Can't create file '/tmp/x' (errno: 122 - Disk quota exceeded)"],
  [1878, "Temporary file write failure."],
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
