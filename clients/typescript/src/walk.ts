interface Page {
  items: unknown[];
  nextCursor?: string;
}

/** Any operation that answers with pages, such as `listItems`. */
export type List = (options: never) => Promise<{ data: Page | undefined }>;

/** What a page of a list is made of. */
export type ElementOf<Operation extends List> = NonNullable<Awaited<ReturnType<Operation>>['data']>['items'][number];

/**
 * Walks through a list, page by page, as slowly as its elements are taken: `break` ends it without another request.
 *
 * @param options - what the operation takes. With a `cursor` in its `query` the walk begins there
 * @throws ProblemError and all else that the operation is rejected with; what comes before is given already
 * @throws TypeError when an answer is no page, or leads back to itself
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
    if (!Array.isArray(data?.items)) throw new TypeError('The answer is no page of a list.');
    yield* data.items as ElementOf<Operation>[];
    if (data.nextCursor === undefined) return;
    if (data.nextCursor === cursor) throw new TypeError('The page leads to itself.');
    cursor = data.nextCursor;
  }
}
