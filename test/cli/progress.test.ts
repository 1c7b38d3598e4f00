import { describe, expect, it } from "vitest";
import { Progress, progressLine } from "../../src/cli/progress.ts";

describe("the progress line", () => {
  it("shows the progress, the speed and the time left", () => {
    const line = `[${"#".repeat(7)}${".".repeat(22)}] 30,000 of 120,000 receipts, 15,000/s, 0:06 left`;
    expect(progressLine(30_000, 120_000, 2_000, 80)).toBe(line);
    expect(progressLine(0, 10, 0, 80)).toMatch(/^\[\.{40}\] 0 of 10 receipts, 0\/s$/);
    expect(progressLine(10, 10, 1000, 80)).toMatch(/^\[#+\] 10 of 10 receipts, 10\/s, 0:00 left$/);
    expect(progressLine(1, 10_000, 1000, 80)).toMatch(/ 1 of 10,000 receipts, 1\/s, 2:46:39 left$/);
  });

  it.each([0, 1, 20, 40, 59, 60, 80, 300])("fits into %i columns", (columns) => {
    const line = progressLine(30_000, 120_000, 2_000, columns);
    expect(line.length).toBeLessThan(Math.max(columns, 1));
  });

  it("is correct for a growing chain", () => {
    expect(progressLine(12, 10, 1000, 80)).toMatch(/^\[#+\] 12 of 10 receipts, 12\/s, 0:00 left$/);
  });
});

describe("progress", () => {
  function terminal(isTTY: boolean) {
    const written: string[] = [];
    return { isTTY, columns: 80, written, write: (text: string) => written.push(text) };
  }

  it("is drawn on one line, at most ten times a second, and erased at the end", () => {
    const screen = terminal(true);
    let now = 0;
    const progress = new Progress(screen, () => now);
    for (; now < 1000; now += 10) progress.show(now, 1000);
    progress.clear();
    progress.clear();
    expect(screen.written).toHaveLength(11);
    const takenAway = "\r\x1b[2K";
    for (const text of screen.written) expect(text.lastIndexOf(takenAway)).toBe(0);
    expect(screen.written.join("")).not.toContain("\n");
    expect(screen.written.at(-1)).toBe(takenAway);
  });

  it("is drawn on a terminal of unknown size", () => {
    const screen = { ...terminal(true), columns: 0 };
    new Progress(screen, () => 0).show(1, 2);
    expect(screen.written).toEqual([expect.stringContaining("1 of 2 receipts")]);
  });

  it("is not drawn without a terminal", () => {
    const file = terminal(false);
    const progress = new Progress(file);
    progress.show(1, 2);
    progress.clear();
    expect(file.written).toEqual([]);
  });
});
