/** A module for a process in which all waits pass ten times as fast, so that tests need not wait for time limits. */
export const fastTimers = `data:text/javascript,${encodeURIComponent(`
  const set = globalThis.setTimeout;
  globalThis.setTimeout = (run, ms, ...more) => set(run, ms / 10, ...more);`)}`;
