/** A module for a process in which all waits pass ten times as fast, so that tests need not wait for time limits. */
export const fastTimers = `data:text/javascript,${encodeURIComponent(`
  const set = globalThis.setTimeout;
  globalThis.setTimeout = (run, ms, ...more) => set(run, ms / 10, ...more);`)}`;

/**
 * The same from SIGTERM on: a start has all its time. The limit of the whole stop remains as well, or a busy machine could
 * reach it before the last step.
 */
export const fastTimersOfStop = `data:text/javascript,${encodeURIComponent(`
  const set = globalThis.setTimeout;
  process.once("SIGTERM", () => {
    globalThis.setTimeout = (run, ms, ...more) => set(run, ms < 9_000 ? ms / 10 : ms, ...more);
  });`)}`;
