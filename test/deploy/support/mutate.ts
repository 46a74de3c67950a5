/**
 * A copy of a document in which one thing is different.
 *
 * @param path - to it, like `spec.ports.0.name`; what is missing on the way is made
 * @param value - what to put there; `undefined` removes it
 */
export function mutate<T extends object>(document: T, path: string, value: unknown): T {
  const copy = structuredClone(document);
  const names = path.split('.');
  const last = names.pop() ?? '';
  let parent = copy as Record<string, unknown>;
  for (const name of names) {
    parent[name] ??= {};
    parent = parent[name] as Record<string, unknown>;
  }
  if (value === undefined) {
    // oxlint-disable-next-line typescript/no-dynamic-delete -- the path is data
    delete parent[last];
  } else {
    parent[last] = value;
  }
  return copy;
}
