import { hash } from 'node:crypto';

/** A row of an entity with `@VersionColumn() declare version: number`. */
export interface Versioned {
  readonly id: string;
  readonly version: number;
}

/** An entity tag (RFC 9110, section 8.8.3). Node reads headers as Latin-1. */
const TAG = String.raw`(?:W\/)?"[!#-~\x80-\xff]*"`;
const ELEMENT = String.raw`[\t ]*(?:${TAG}[\t ]*)?`;

/** A value of `If-Match` or `If-None-Match`: `*`, or a list of entity tags whose elements may be empty (section 5.6.1.2). */
export const CONDITION = new RegExp(`^(?:\\*|${ELEMENT}(?:,${ELEMENT})*)$`);

/** The tags of a condition; `*` matches every row. */
export type EntityTags = '*' | readonly string[];

/** Parses the value of `If-Match` or `If-None-Match`; undefined if it is not a {@link CONDITION}. */
export function parseCondition(value: string): EntityTags | undefined {
  const tags = value === '*' ? value : (value.match(new RegExp(TAG, 'g')) ?? []);
  return CONDITION.test(value) ? tags : undefined;
}

/** The strong entity tag of a row. It has the id, so that tags of other rows do not match by accident. */
export function etagOf({ id, version }: Versioned): string {
  return `"${version}-${hash('sha256', id.toLowerCase(), 'base64url').slice(0, 16)}"`;
}

/** Strong comparison (section 8.8.3.2), for `If-Match`. @param tag - strong tag of a resource that exists */
export function matches(tags: EntityTags, tag: string): boolean {
  return tags === '*' || tags.includes(tag);
}

/** Weak tags as strong ones, for the weak comparison of `If-None-Match`. */
export function opaqueTags(tags: EntityTags): EntityTags {
  return tags === '*' ? tags : tags.map((tag) => tag.replace(/^W\//, ''));
}

/** The versions of a row for which the tags stand, as text: a client can send numbers that no column can hold. */
export function versionsOf(tags: EntityTags, id: string): string[] {
  const versions = [tags].flat().map((tag) => [tag, /^"(\d+)-/.exec(tag)?.[1] ?? ''] as const);
  return versions.flatMap(([tag, version]) => (etagOf({ id, version: Number(version) }) === tag ? version : []));
}
