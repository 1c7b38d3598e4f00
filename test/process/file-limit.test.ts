import { expect, it } from "vitest";
import { readFileLimit, warnOfFileLimit } from "../../src/process/file-limit.ts";

it("a warning is given when the file limit is lower than the settings need", () => {
  const counts = { connections: 8192, databaseConnections: 32 };
  expect(warnOfFileLimit(1024, counts)).toMatch(/may open 1024 files, and its settings need 8288: /);
  expect(warnOfFileLimit(8288, counts)).toBeUndefined();
  expect(warnOfFileLimit(undefined, counts)).toBeUndefined();
});

it("the file limit of this process is read on Linux", () => {
  const limit = readFileLimit();
  if (process.platform === "linux") expect(limit).toBeGreaterThan(0);
  else expect(limit).toBeUndefined();
});
