import type { CallOptions } from "@connectrpc/connect";

export interface ListOptions {
  signal?: AbortSignal | undefined;
}

/**
 * All items of a list, page by page. A page is read when the consumer has taken the page before.
 * @param request the request of the first page; the others have a cursor, too
 * @param itemsOf the items of a page
 */
export async function* readList<Request extends object, Page extends { nextCursor?: string | undefined }, Item>(
  call: (request: Request, options: CallOptions) => Promise<Page>,
  request: NoInfer<Request>,
  signal: AbortSignal | undefined,
  itemsOf: (page: Page) => Item[],
): AsyncGenerator<Item, void> {
  let cursor: string | undefined;
  do {
    const page = await call(
      cursor === undefined ? request : { ...request, cursor },
      signal === undefined ? {} : { signal },
    );
    yield* itemsOf(page);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}
