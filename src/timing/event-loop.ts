/** How many items `forEachInBatches` handles between two turns of the event loop. */
const batchSize = 32;

/** Resolves in the next turn of the event loop, after everything that is due now. */
function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Calls `handle` for each item, and yields to the event loop after each batch: what happens because of one call would
 * hold up the event loop if thousands were made at once.
 */
export async function forEachInBatches<Item>(items: readonly Item[], handle: (item: Item) => void): Promise<void> {
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % batchSize === 0) await yieldToEventLoop();
    handle(item);
  }
}
