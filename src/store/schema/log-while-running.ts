const intervalMs = 5_000;

/** Runs `work`. Every few seconds the log says that it still runs: it may wait for a lock for hours. */
export async function logWhileRunning<Result>(
  what: string,
  log: (line: string) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const startedAt = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    log(
      `${what} has been running for ${seconds} s; it is working, or waiting for a lock of another connection` +
        " (SHOW PROCESSLIST names it)",
    );
  }, intervalMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
