import { afterAll } from "vitest";

const steps: (() => unknown)[] = [];

// Vitest takes hooks while it collects tests: an `afterAll` that a running test or hook adds is never run. This one is
// there from the start.
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

/** Has `step` run after the file's last test, the newest first. May be called at any time. */
export function afterFile(step: () => unknown): void {
  steps.push(step);
}
