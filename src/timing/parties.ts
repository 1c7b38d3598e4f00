/**
 * For whom the work with a signal is done: an agent or a client address. Where work waits, parties take turns. Work of nobody
 * is a party of its own.
 */
export const parties = new WeakMap<AbortSignal, number | string>();
