// How `npm start` runs the service: what a test of memory must run it with, too.
import { readFileSync } from "node:fs";

const { scripts } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const words = (scripts.start as string).split(" ");

/** The flags of Node in the script `start`: the limits of memory above all. */
export const startFlags: readonly string[] = words.filter((word) => word.startsWith("--"));

/** How the script `start` sets the C library's allocator up. */
export const startEnvironment: Readonly<Record<string, string>> = Object.fromEntries(
  words.flatMap((word) => (word.startsWith("MALLOC_") ? [word.split("=")] : [])),
);
