import { afterAll } from "vitest";

const steps: (() => unknown)[] = [];

// Vitest registers hooks while it collects tests. It never runs an `afterAll` that a running test or hook adds, so this one
// is registered at the start.
afterAll(async () => {
  const failures: unknown[] = [];
  for (const step of steps.splice(0).reverse()) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `not everything ended: ${failures.join("; ")}`);
});

/** Runs `step` after the last test of the file. The newest step runs first. May be called at any time. */
export function afterFile(step: () => unknown): void {
  steps.push(step);
}
