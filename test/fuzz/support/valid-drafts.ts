import * as fc from 'fast-check';
import type { Described, Parameter } from './described.js';
import type { Draft } from './fuzz-request.js';
import { typesOf } from './schemas.js';
import { textsOf } from './valid-texts.js';
import { leafValues, valuesOf } from './valid-values.js';

/** Names a request: no two have the same by chance. */
const KEY = 'Idempotency-Key';

/** Makes requests that an operation's document admits. */
export class ValidDrafts {
  private made: fc.Arbitrary<Draft> | undefined;

  /** @param cursors - `nextCursor`s of lists without a filter */
  constructor(
    readonly operation: Described,
    readonly cursors: readonly string[],
  ) {}

  /** Made once: what is known of texts that are valid is found by trying. */
  drafts(): fc.Arbitrary<Draft> {
    this.made ??= this.make();
    return this.made;
  }

  private make(): fc.Arbitrary<Draft> {
    const { operation } = this;
    const valuesIn = (location: string) => operation.parameters.filter((parameter) => parameter.in === location);
    const chosen = (location: string) =>
      fc.tuple(...valuesIn(location).map((parameter) => this.entries(parameter))).map((entries) => entries.flat());
    return fc
      .record({
        path: chosen('path'),
        query: chosen('query').map(withoutForeignCursor),
        headers: chosen('header'),
        json: operation.body ? valuesOf(operation.body) : fc.constant(undefined),
      })
      .map(({ path, query, headers, json }) => ({ operation, pathParameters: Object.fromEntries(path), query, headers, json }));
  }

  /** Texts that a parameter admits. */
  texts({ name, schema, examples }: Parameter): fc.Arbitrary<string> {
    if (name === 'cursor') {
      return fc.constantFrom(...this.cursors);
    }
    if (name === 'filter') {
      return filtersOf(examples);
    }
    return typesOf(schema).includes('string') ? textsOf(schema) : leafValues(schema).map(String);
  }

  private entries(parameter: Parameter): fc.Arbitrary<(readonly [string, string])[]> {
    const texts = parameter.name === KEY ? fc.noBias(fc.uuid()) : this.texts(parameter);
    const given = texts.map((text): (readonly [string, string])[] => [[parameter.name, text]]);
    return parameter.required ? given : fc.oneof(given, fc.constant<(readonly [string, string])[]>([]));
  }
}

/** A cursor belongs to the filter that it came with, which was none. */
function withoutForeignCursor(query: readonly (readonly [string, string])[]): readonly (readonly [string, string])[] {
  const isFiltered = query.some(([name, value]) => name === 'filter' && value.trim() !== '');
  return query.filter(([name]) => !(isFiltered && name === 'cursor'));
}

/** Expressions made of those in the document: each has one search at most, and there may be four. */
function filtersOf(examples: readonly string[]): fc.Arbitrary<string> {
  const part = fc
    .tuple(fc.constantFrom(...examples.filter((example) => example !== '')), fc.boolean())
    .map(([filter, negated]) => (negated ? `!(${filter})` : `(${filter})`));
  const joined = fc.tuple(fc.array(part, { minLength: 1, maxLength: 3 }), fc.constantFrom(' && ', ' || ', '\n&&\t'));
  return fc.oneof(
    fc.constantFrom(...examples),
    joined.map(([parts, operator]) => parts.join(operator)),
  );
}
