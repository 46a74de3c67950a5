import * as fc from 'fast-check';
import { accepted, type Constraint, refusedAttempt } from './constraint.js';
import { requestOf } from './fuzz-request.js';
import type { ValidDrafts } from './valid-drafts.js';

/** Names that objects have by themselves, that classes of the platform use, or that are nearly right. */
const TEMPTING = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'length',
  'after',
  'filtered',
  'access_token',
  'Limit',
  'limit ',
  'limit[]',
  'filter[x]',
  'ids',
  '',
];

/** What every operation asks of its parameters: to be known, and given once. */
export function parameterConstraints(drafts: ValidDrafts): Constraint[] {
  const { operation } = drafts;
  const known = new Set(operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name));
  const names = fc
    .oneof(fc.constantFrom(...TEMPTING), fc.string({ unit: 'grapheme', maxLength: 20 }))
    .filter((name) => !known.has(name));
  const unknown: Constraint = {
    name: 'query known parameters alone',
    broken: fc
      .tuple(drafts.drafts(), names, fc.string({ unit: 'grapheme' }))
      .map(([draft, name, value]) =>
        refusedAttempt(requestOf({ ...draft, query: [...draft.query, [name, value]] }), operation, name),
      ),
    kept: accepted(drafts.drafts()),
  };
  const once = operation.parameters
    .filter((parameter) => parameter.in !== 'path')
    .map((parameter): Constraint => {
      const place = parameter.in === 'query' ? 'query' : 'headers';
      const texts = drafts.texts(parameter);
      return {
        name: `${parameter.in} ${parameter.name} once`,
        broken: fc.tuple(drafts.drafts(), texts, texts).map(([draft, first, second]) => {
          const others = draft[place].filter(([name]) => name !== parameter.name && name !== 'cursor');
          const repeated = { ...draft, [place]: [...others, [parameter.name, first], [parameter.name, second]] };
          return refusedAttempt(requestOf(repeated), operation, parameter.name);
        }),
        kept: accepted(drafts.drafts()),
      };
    });
  return [unknown, ...once];
}
