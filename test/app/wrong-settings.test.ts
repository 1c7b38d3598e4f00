// What the operator reads when a setting is wrong.
import { expect, it } from "vitest";
import { startToStop } from "./stopping.ts";

it.concurrent.each([
  [{ STOA_PORT: "http" }, /^STOA_PORT must be an integer from 0 to 65535, not "http"\.\n$/],
  // Node makes folders under /proc for ever.
  ...["/proc/x/y", "/etc/passwd", "/etc/passwd/x"].map((path): [object, RegExp] => [
    { STOA_DATA_DIR: path },
    new RegExp(`^STOA_DATA_DIR is ${path}, and this folder cannot be created .*; name another folder\\n$`),
  ]),
])("a start with a wrong setting ends with one line: %j", async (setting, line) => {
  const service = startToStop({ STOA_LOG_LEVEL: "silent", ...setting });
  expect(await service.exited).toBe(1);
  expect(service.output).toMatch(line);
});
