interface Page {
  items: unknown[];
  nextCursor?: string;
}

/** An operation that returns pages, such as `listItems`. */
export type List = (options: never) => Promise<{ data: Page | undefined }>;

/** The type of the items of a list. */
export type ElementOf<Operation extends List> = NonNullable<Awaited<ReturnType<Operation>>['data']>['items'][number];

/**
 * Iterates over all items of a list. The next page is requested when its first item is needed; `break` ends the iteration.
 *
 * @param options - options of the operation. A `cursor` in `query` is the start
 * @throws ProblemError and every other error of the operation, after the items before it
 * @throws TypeError if a response is not a page, or its `nextCursor` is the cursor of the same page
 */
export async function* walk<Operation extends List>(
  list: Operation,
  options: Parameters<Operation>[0],
): AsyncGenerator<ElementOf<Operation>, void, undefined> {
  const first: { query?: { cursor?: string } } = options;
  let cursor = first.query?.cursor;
  for (;;) {
    const query = { ...first.query, ...(cursor !== undefined && { cursor }) };
    const { data } = await list({ ...first, query, throwOnError: true } as never);
    if (!Array.isArray(data?.items)) throw new TypeError('The response is not a page of a list.');
    yield* data.items as ElementOf<Operation>[];
    if (data.nextCursor === undefined) return;
    if (data.nextCursor === cursor) throw new TypeError('The nextCursor of the page is its own cursor.');
    cursor = data.nextCursor;
  }
}
