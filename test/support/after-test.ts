const steps: (() => unknown)[] = [];
/** How many tests run: more than one where they are concurrent. */
let running = 0;

/**
 * Runs `step` after the running test, or after the last of those that run at the same time; the newest step runs first. For
 * helpers: a hook that a helper's module registers is one of the file that imports it first in this process, and of no other.
 */
export function afterTest(step: () => unknown): void {
  steps.push(step);
}

/** Notes that a test begins. */
export function beginTest(): void {
  running += 1;
}

/** Runs the steps once no test runs any more. */
export async function endTest(): Promise<void> {
  running -= 1;
  if (running > 0) return;
  for (const step of steps.splice(0).reverse()) await step();
}
