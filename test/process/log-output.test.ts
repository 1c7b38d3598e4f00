import { execFileSync } from "node:child_process";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LogOutput } from "../../src/process/log-output.ts";
import { waitUntil } from "../support/wait.ts";

const { O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;

let folder: string;
let reader: number | undefined;
let writer: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stoa-log-"));
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  reader = openSync(path, O_RDONLY | O_NONBLOCK);
  writer = openSync(path, O_WRONLY | O_NONBLOCK);
});
afterEach(() => {
  stopReading();
  closeSync(writer);
  rmSync(folder, { recursive: true });
});

function stopReading(): void {
  if (reader !== undefined) closeSync(reader);
  reader = undefined;
}

/** Returns everything that the pipe holds now. */
function read(): string {
  const buffer = Buffer.alloc(1024 * 1024);
  let text = "";
  try {
    for (;;) {
      const count = readSync(reader as number, buffer);
      if (count === 0) return text;
      text += buffer.toString("latin1", 0, count);
    }
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe("EAGAIN");
    return text;
  }
}

const line = (number: number) => `${String(number).padStart(9, "0")} ${"x".repeat(989)}\n`;

it("each line is written at once; while nobody reads, lines wait in order, and the number of lines dropped beyond 1 MiB is logged", async () => {
  const output = new LogOutput(writer);
  for (let number = 0; number < 3_000; number++) output.write(line(number));
  let text = "";
  await waitUntil("the line about dropped lines", () => {
    text += read();
    return text.includes("dropped");
  });
  const lines = text.trimEnd().split("\n");
  const report = JSON.parse(lines.pop() as string);
  expect(lines.map((each) => Number(each.slice(0, 9)))).toEqual(lines.map((_, index) => index));
  expect(lines.every((each) => each.length === 999)).toBe(true);
  expect(lines.length).toBeGreaterThan(1_000);
  expect(report).toMatchObject({ level: "warn", dropped: 3_000 - lines.length });
  for (const number of [1, 2]) output.write(line(number));
  expect(read()).toBe(line(1) + line(2));
});
