const steps: (() => unknown)[] = [];

/** Runs `step` after the last test of the file. The newest step runs first. May be called at any time. */
export function afterFile(step: () => unknown): void {
  steps.push(step);
}

/** Runs the steps of a file that has ended. @throws AggregateError if some failed, after all have run */
export async function endFile(): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps.splice(0).reverse()) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, `not everything ended: ${failures.join("; ")}`);
}
