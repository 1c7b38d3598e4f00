const steps: (() => unknown)[] = [];

/**
 * Runs `step` after the running test; the newest step runs first. For helpers: a hook that a helper's module registers is one of
 * the file that imports it first in this process, and of no other. Not for tests that run concurrently.
 */
export function afterTest(step: () => unknown): void {
  steps.push(step);
}

/** Runs the steps of a test that has ended. */
export async function endTest(): Promise<void> {
  for (const step of steps.splice(0).reverse()) await step();
}
