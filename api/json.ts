import { isDeepStrictEqual } from 'node:util';

/** An object of a JSON document. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The same part of two documents; undefined where one has none. */
export interface Pair<Part = unknown> {
  readonly before: Part;
  readonly after: Part;
}

/** Whether it is an object, and no list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object as it is, and an empty one for anything else, as for what is not there. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** A list as it is, and an empty one for anything else. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Every name that either of two objects has, with both values. */
export function pairsOf({ before, after }: Pair): [name: string, pair: Pair][] {
  const [old, current] = [asObject(before), asObject(after)];
  const names = new Set([...Object.keys(old), ...Object.keys(current)]);
  return [...names].map((name) => [name, { before: old[name], after: current[name] }]);
}

/** Whether all of one list is in the other, in any order. */
export function isPartOf(part: readonly unknown[], whole: readonly unknown[]): boolean {
  return part.every((value) => whole.some((other) => isDeepStrictEqual(value, other)));
}

/** Follows a reference within its document (`#/components/…`); what stands beside it comes first. */
export function resolve(document: JsonObject, node: unknown): JsonObject {
  const { $ref: reference, ...own } = asObject(node);
  if (typeof reference !== 'string') {
    return asObject(node);
  }
  const path = reference.split('/').slice(1);
  const target = path.reduce<unknown>((part, name) => asObject(part)[unescape(name)], document);
  if (!reference.startsWith('#/') || target === undefined) {
    throw new Error(`${reference} leads nowhere.`);
  }
  const resolved = resolve(document, target);
  return Object.keys(own).length === 0 ? resolved : { ...resolved, ...own };
}

/** RFC 6901, section 4. */
function unescape(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}
