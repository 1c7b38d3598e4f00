/** How often the log says that something still goes on, in milliseconds. */
const everyMs = 5_000;

/** Runs `work`, and says in the log every few seconds that it goes on: it may wait for a lock without end. */
export async function sayWhileSlow<Result>(
  what: string,
  log: (line: string) => void,
  work: () => Promise<Result>,
): Promise<Result> {
  const begun = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - begun) / 1000);
    log(
      `${what} has been running for ${seconds} s; it works, or waits for a lock that another connection holds` +
        " (SHOW PROCESSLIST names it)",
    );
  }, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
