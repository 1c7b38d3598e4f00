/**
 * Everything that a list holds, page after page by cursor, each page read when the one before is used up.
 * @param read gives the page after a cursor, the first one after none
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
