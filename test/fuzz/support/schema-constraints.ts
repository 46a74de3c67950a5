import * as fc from 'fast-check';
import { ABSENT, valuesThatBreak } from './broken-values.js';
import { accepted, checkedName, type Constraint, refusedAttempt, withPlaced } from './constraint.js';
import { cursorsThatBreak, filtersThatBreak, longestFilters } from './list-parameters.js';
import { type Draft, requestOf } from './fuzz-request.js';
import { nameOf, type Place, placesOf } from './places.js';
import { boundOf, isValid } from './schemas.js';
import { those } from './those.js';
import { textsOfLength } from './valid-texts.js';
import type { ValidDrafts } from './valid-drafts.js';
import { leafValues, valuesOf } from './valid-values.js';

/** Keywords that say nothing of a value, or are broken at the places in it. */
const NO_RULES: ReadonlySet<string> = new Set([
  'properties',
  'required',
  'default',
  'additionalProperties',
  'title',
  'description',
  'example',
  'examples',
  'deprecated',
]);

/** Texts that are no whole number, as they stand in a URL. */
const NO_INTEGERS = [
  '',
  'abc',
  '1.5',
  '1.0',
  '1e1',
  '0x10',
  ' 5',
  '5 ',
  '+5',
  '05',
  '1_0',
  '1,2',
  '[1]',
  '٣',
  'NaN',
  'Infinity',
  'true',
  'null',
];

/**
 * What the schemas of an operation ask of its requests, keyword by keyword.
 *
 * @throws Error for a keyword of which it is not known how to break it: it would go untested
 */
export function schemaConstraints(drafts: ValidDrafts): Constraint[] {
  return placesOf(drafts.operation).flatMap((place) => keywordsOf(place).map((keyword) => constraintOf(place, keyword, drafts)));
}

function keywordsOf({ in: location, path, schema, required }: Place): string[] {
  // Whatever stands in a URL or a header is a text.
  const isRule = (keyword: string) =>
    !NO_RULES.has(keyword) &&
    !keyword.startsWith('x-') &&
    !(location !== 'body' && keyword === 'type' && schema['type'] === 'string');
  const implied = location === 'query' && ['cursor', 'filter'].includes(path.join()) ? ['meaning'] : [];
  const isRequired = required && location !== 'path' && path.length > 0;
  return [...(isRequired ? ['required'] : []), ...Object.keys(schema).filter(isRule), ...implied];
}

function constraintOf(place: Place, keyword: string, drafts: ValidDrafts): Constraint {
  const values = brokenValues(place, keyword, drafts);
  if (!values) {
    throw new Error(`It is not known how to break "${keyword}" of ${nameOf(place)}: teach broken-values.ts.`);
  }
  const broken = fc.tuple(drafts.drafts(), values).map(([draft, value]) => {
    const changed = withPlaced(draft, place, value);
    return refusedAttempt(requestOf(changed), drafts.operation, checkedName(changed, place));
  });
  const kept = fc
    .tuple(drafts.drafts(), keptValues(place, keyword, drafts))
    .map(([draft, value]) => withPlaced(alone(draft, place), place, value));
  return { name: `${place.in} ${nameOf(place)} ${keyword}`, broken, kept: accepted(kept) };
}

function brokenValues(place: Place, keyword: string, drafts: ValidDrafts): fc.Arbitrary<unknown> | undefined {
  const { in: location, path, schema } = place;
  const [name = ''] = path;
  const parameter = drafts.operation.parameters.find((candidate) => candidate.in === location && candidate.name === name);
  if (location === 'query' && name === 'filter' && parameter) {
    return filtersThatBreak(keyword, boundOf(schema, 'maxLength', 0), parameter.examples);
  }
  if (keyword === 'meaning') {
    return cursorsThatBreak(drafts.cursors, boundOf(schema, 'maxLength', 0));
  }
  if (location !== 'body' && keyword === 'type') {
    return fc.oneof(
      fc.constantFrom(...NO_INTEGERS),
      fc.string({ unit: 'grapheme' }).filter((text) => !/^-?\d+$/.test(text)),
    );
  }
  const values = valuesThatBreak(keyword, schema);
  if (values && location !== 'body') {
    // An empty path parameter would be another path.
    return those(values, (value) => isSendable(value) && (location !== 'path' || value !== ''));
  }
  return values;
}

/** Values at the edge of what a keyword admits, and any that are valid. */
function keptValues(place: Place, keyword: string, drafts: ValidDrafts): fc.Arbitrary<unknown> {
  const { in: location, path, schema } = place;
  const parameter = drafts.operation.parameters.find((candidate) => candidate.in === location && candidate.name === path[0]);
  if (parameter?.name === 'filter' && keyword === 'maxLength') {
    return longestFilters(boundOf(schema, 'maxLength', 0), parameter.examples);
  }
  if (parameter?.name === 'filter' || parameter?.name === 'cursor') {
    return drafts.texts(parameter);
  }
  const bound = boundOf(schema, keyword, 0);
  if (keyword === 'minimum' || keyword === 'maximum') {
    return fc.constantFrom(bound, keyword === 'minimum' ? bound + 1 : bound - 1);
  }
  if (keyword === 'minLength' || keyword === 'maxLength') {
    return textsOfLength(schema, bound).filter((text) => isValid({ ...schema, type: 'string' }, text));
  }
  const isObject = schema['properties'] !== undefined;
  return (isObject ? valuesOf(schema) : leafValues(schema)).filter((value) => location === 'body' || isSendable(value));
}

/** A cursor belongs to its filter: only one of both can be chosen here. */
function alone(draft: Draft, { path }: Place): Draft {
  const other: Record<string, string> = { filter: 'cursor', cursor: 'filter' };
  return { ...draft, query: draft.query.filter(([name]) => name !== other[path[0] ?? '']) };
}

/** Whether HTTP can carry it in a header as it is: parsers take off white space around it. */
function isSendable(value: unknown): boolean {
  return value === ABSENT || (/^[\t -~\u0080-\u00ff]*$/.test(String(value)) && String(value).trim() === String(value));
}
