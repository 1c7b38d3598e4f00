// A publisher that is killed at its steps, over the end of a file.
import { cpSync } from "node:fs";
import { expect } from "vitest";
import { asBefore, grownLog, publishAndDie, treeIn } from "./interruption.ts";
import { type GrowingLog, never, temporaryFolder } from "./support.ts";

const before = 65_534;
const grown = before + 4;
/** The sizes of the tree that the folder has, and of the one that the database knows to be signed. */
export const whole = [`${before} ${before}`, `${grown} ${before}`, `${grown} ${grown}`].sort();

/**
 * Kills a publisher at every second step.
 * @param first 1 or 2
 * @returns what the folder and the database had then
 */
export async function killAtEverySecond(first: number): Promise<string[]> {
  const { log, path, after } = await grownLog(before);
  const { signed, note } = await log.head();
  expect(signed).toBe(before);
  const found = new Set<string>();
  // What is killed after a step is killed before the next one.
  for (let step = first; ; step += 2) {
    const copy = temporaryFolder();
    cpSync(path, copy, { recursive: true });
    await asBefore(log.test, signed, note);
    const steps = publishAndDie(log, copy, step);
    const size = await treeIn(copy, log, [before, after]);
    const inDatabase = (await log.head()).signed;
    found.add(`${size} ${inDatabase}`);
    // The database never has a note that the folder of its signer lacks.
    expect(inDatabase).toBeLessThanOrEqual(size);
    const next = await log.publisher(copy);
    await next.publish(never);
    expect([next.obstacle, next.tree?.size, (await log.head()).signed]).toEqual([undefined, after, after]);
    await next.stop();
    if (steps !== undefined) {
      expect([step - 2, step - 1]).toContain(steps);
      break;
    }
  }
  return [...found].sort();
}

/** Checks that a start goes on from a folder, and has the whole log. */
export async function expectToGoOn(log: GrowingLog, path: string, size: number): Promise<void> {
  const next = await log.publisher(path);
  await next.publish(never);
  expect([next.obstacle, next.tree?.size, (await log.head()).signed]).toEqual([undefined, size, size]);
  await next.stop();
}
