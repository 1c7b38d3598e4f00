// Interrupts what writes to the disk and to the database, before or after any of its steps.
import promises, { type FileHandle, open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { Database } from "../../src/store/database/database.ts";

/** Called before a step is done; it may throw instead. `done` is called after it. */
type OnStep = (name: string, number: number) => { done?: () => void } | undefined;

const ofFiles = ["write", "appendFile", "sync", "truncate"] as const;
const ofPaths = ["rename", "rm", "truncate"] as const;
const ofDatabases = ["transaction", "runDdl"] as const;

/** Wraps every step of this process from now on. @returns a function that ends it, and tells how many steps there were */
export async function watchSteps(onStep: OnStep): Promise<() => number> {
  const file = await open(".", "r");
  const prototype = Object.getPrototypeOf(file) as FileHandle;
  await file.close();
  let count = 0;
  const undo: (() => void)[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: it wraps functions of any kind.
  const wrap = (owner: any, name: string) => {
    const original = owner[name];
    owner[name] = async function (this: unknown, ...args: unknown[]) {
      count += 1;
      const step = onStep(name, count);
      try {
        return await original.apply(this, args);
      } finally {
        step?.done?.();
      }
    };
    undo.push(() => {
      owner[name] = original;
    });
  };
  for (const name of ofFiles) wrap(prototype, name);
  for (const name of ofPaths) wrap(promises, name);
  for (const name of ofDatabases) wrap(Database.prototype, name);
  syncBuiltinESMExports();
  return () => {
    for (const each of undo) each();
    syncBuiltinESMExports();
    return count;
  };
}

/**
 * A step fails and is not done, or it is done and fails; or nothing is done from it on, also nothing that tidies up: what the disk
 * and the database then have is what they have after a kill.
 */
export const interruptions = ["before", "after", "killed"] as const;

/** Interrupts one step, counted from 1. @param names gets its name */
export function interrupt(
  how: (typeof interruptions)[number],
  step: number,
  names: Set<string>,
): Promise<() => number> {
  const fail = (): never => {
    throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
  };
  return watchSteps((name, number) => {
    if (number === step) names.add(name);
    if (number === step && how === "after") return { done: fail };
    if (number === step || (number > step && how === "killed")) fail();
    return undefined;
  });
}
