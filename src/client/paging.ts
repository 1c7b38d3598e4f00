export interface ListOptions {
  signal?: AbortSignal | undefined;
}

/**
 * All items of a list, page by page. A page is read when the consumer has taken the page before.
 * @param read reads the page after a cursor; the first page without a cursor
 */
export async function* readPages<T>(
  read: (cursor: string | undefined) => Promise<{ items: T[]; nextCursor?: string | undefined }>,
): AsyncGenerator<T, void> {
  let cursor: string | undefined;
  do {
    const { items, nextCursor } = await read(cursor);
    yield* items;
    cursor = nextCursor;
  } while (cursor !== undefined);
}

/** The part of a request that names a page. */
export const after = (cursor: string | undefined) => (cursor === undefined ? {} : { cursor });

/** The options of a call that ends when the signal aborts. */
export const until = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal });
