import * as fc from 'fast-check';
import type { Described } from './described.js';
import { type Attempt, type Draft, type FuzzRequest, requestOf, SPELLINGS } from './fuzz-request.js';
import { nameOf, type Place } from './places.js';
import { errorsOf } from './schemas.js';
import { ABSENT } from './broken-values.js';
import { withValue } from './valid-values.js';

/** Something that the document asks of a request. */
export interface Constraint {
  /** The place and the rule. */
  readonly name: string;
  /** Requests that break it, and nothing else. */
  readonly broken: fc.Arbitrary<Attempt>;
  /** Requests that keep it, and only just where there is such a thing. */
  readonly kept: fc.Arbitrary<Attempt>;
}

/** Requests of the document's own, in any spelling, which must succeed, or fail as the operation says for states that they may meet. */
export function accepted(drafts: fc.Arbitrary<Draft>): fc.Arbitrary<Attempt> {
  return fc
    .tuple(drafts, fc.constantFrom(...SPELLINGS))
    .map(([draft, spelling]) => acceptedAttempt(requestOf(draft, spelling), draft.operation));
}

export function acceptedAttempt(request: FuzzRequest, operation: Described): Attempt {
  return { request, operation, expected: { statuses: [...operation.successes, ...conflictsOf(operation)] } };
}

/** Refused for one place alone. */
export function refusedAttempt(request: FuzzRequest, operation: Described, name: string, status = 400): Attempt {
  return { request, operation, expected: { statuses: [status], ...(status === 400 && { names: [name] }) } };
}

/** The draft with another value at a place. */
export function withPlaced(draft: Draft, { in: location, path }: Pick<Place, 'in' | 'path'>, value: unknown): Draft {
  const [name = ''] = path;
  const replaced = (entries: Draft['query']): Draft['query'] => [
    ...entries.filter(([other]) => other !== name),
    ...(value === ABSENT ? [] : [[name, String(value)] as const]),
  ];
  switch (location) {
    case 'body':
      return { ...draft, json: withValue(draft.json, path, value === ABSENT ? undefined : value) };
    case 'query':
      return { ...draft, query: replaced(draft.query) };
    case 'header':
      return { ...draft, headers: replaced(draft.headers) };
    case 'path':
      return { ...draft, pathParameters: { ...draft.pathParameters, [name]: String(value) } };
    default:
      throw new Error(`Parameters in ${location} are not fuzzed yet: teach withPlaced of them.`);
  }
}

/**
 * The name of the place that a draft is to be refused for.
 *
 * @throws Error when the document says that the body is right, or wrong elsewhere: the fault is in this test then
 */
export function checkedName({ operation, json }: Draft, place: Pick<Place, 'in' | 'path'>): string {
  const name = nameOf(place);
  if (place.in === 'body' && operation.body) {
    const faulty = errorsOf(operation.body, json).map(({ instancePath, params }) => {
      const { missingProperty, additionalProperty } = params as Record<string, string | undefined>;
      const below = missingProperty ?? additionalProperty;
      return below === undefined ? instancePath : `${instancePath}${nameOf({ in: 'body', path: [below] })}`;
    });
    if (faulty.length === 0 || faulty.some((other) => other !== name)) {
      throw new Error(`This body should be wrong at ${name} alone, and is at ${faulty.join(', ')}: ${JSON.stringify(json)}`);
    }
  }
  return name;
}

/** What depends on what there is already: nothing at that path, or a value that is taken. */
function conflictsOf({ path, operation }: Described): number[] {
  const candidates = path.includes('{') ? [404, 409] : [409];
  return candidates.filter((status) => Object.hasOwn(operation.responses, String(status)));
}
