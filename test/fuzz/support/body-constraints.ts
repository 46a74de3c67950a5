import * as fc from 'fast-check';
import { asObject } from './json.js';
import { accepted, acceptedAttempt, type Constraint, refusedAttempt, withPlaced } from './constraint.js';
import { type Attempt, type Draft, type FuzzRequest, requestOf } from './fuzz-request.js';
import { nameOf, type Place, placesOf } from './places.js';
import { typesOf } from './schemas.js';
import type { ValidDrafts } from './valid-drafts.js';
import { wholeBodyConstraints } from './whole-body-constraints.js';

/** Names that have a meaning to JavaScript, or that a forgiving reader would take for others. */
const TEMPTING = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'toJSON',
  'then',
  'hasOwnProperty',
  'id',
  'createdAt',
  'Name',
  'name ',
  'na\u200bme',
  '',
  '/',
  '~',
  'a/b~c',
  '0',
  'length',
];

/** What every operation with a body asks of it beyond the values in its schema. */
export function bodyConstraints(drafts: ValidDrafts): Constraint[] {
  const places = placesOf(drafts.operation).filter((place) => place.in === 'body');
  return [
    ...wholeBodyConstraints(drafts),
    sizeConstraint(drafts),
    ...places.filter(({ schema }) => schema['additionalProperties'] === false).map((place) => namesConstraint(place, drafts)),
    ...places.filter(isFreeText).map((place) => unicodeConstraint(place, drafts)),
  ];
}

/** As many bytes as the answer 413 of the document says. */
function sizeConstraint(drafts: ValidDrafts): Constraint {
  const { operation } = drafts;
  const [, maximum] = /at most (\d+) bytes/.exec(JSON.stringify(operation.operation.responses['413'])) ?? [];
  if (maximum === undefined) {
    throw new Error(`${operation.name} does not say how large its body may be.`);
  }
  const all = drafts.drafts();
  return {
    name: 'body size',
    broken: fc
      .tuple(all, fc.constantFrom(1, 1, 2, 1000, 70_000))
      .map(([draft, more]) => refusedAttempt(padded(draft, Number(maximum) + more), operation, '', 413)),
    kept: all.map((draft): Attempt => acceptedAttempt(padded(draft, Number(maximum)), operation)),
  };
}

function padded(draft: Draft, size: number): FuzzRequest {
  return requestOf(draft, (value) => {
    const json = JSON.stringify(value);
    return json + ' '.repeat(size - Buffer.byteLength(json));
  });
}

/** Names that are not declared. */
function namesConstraint(place: Place, drafts: ValidDrafts): Constraint {
  const known = asObject(place.schema['properties']);
  const names = fc
    .oneof(fc.constantFrom(...TEMPTING), fc.string({ unit: 'grapheme', maxLength: 20 }))
    .filter((name) => !Object.hasOwn(known, name));
  return {
    name: `body ${nameOf(place)} additionalProperties`,
    broken: fc.tuple(drafts.drafts(), names, fc.constantFrom(null, 1, 'x', true)).map(([draft, name, value]) => {
      const added = { in: 'body', path: [...place.path, name] };
      return refusedAttempt(requestOf(withPlaced(draft, added, value)), drafts.operation, nameOf(added));
    }),
    kept: accepted(drafts.drafts()),
  };
}

/** JSON can escape half of a character, which is no text. */
function unicodeConstraint(place: Place, drafts: ValidDrafts): Constraint {
  const halves = fc.constantFrom('\ud800', '\udfff', 'x\ud83d', '\ude00x', '\ude00\ud83d');
  return {
    name: `body ${nameOf(place)} is Unicode`,
    broken: fc
      .tuple(drafts.drafts(), halves)
      .map(([draft, text]) => refusedAttempt(requestOf(withPlaced(draft, place, text)), drafts.operation, nameOf(place))),
    kept: accepted(drafts.drafts()),
  };
}

function isFreeText({ schema }: Place): boolean {
  return typesOf(schema).includes('string') && schema['enum'] === undefined && schema['format'] === undefined;
}
