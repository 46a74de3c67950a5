/** An object of a JSON document. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether it is an object, and no list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object as it is, and an empty one for anything else. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** A list as it is, and an empty one for anything else. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Follows a reference within its document (`#/components/…`); what is beside it comes first. */
export function resolve(document: JsonObject, node: unknown): JsonObject {
  const { $ref: reference, ...own } = asObject(node);
  if (typeof reference !== 'string') {
    return own;
  }
  const target = reference
    .split('/')
    .slice(1)
    .reduce<unknown>((part, name) => asObject(part)[name], document);
  if (target === undefined) {
    throw new Error(`${reference} is not in the document.`);
  }
  return { ...resolve(document, target), ...own };
}
