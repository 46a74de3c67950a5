import * as fc from 'fast-check';

/** Looked at before it is decided whether enough of them are so. */
const SAMPLE = 64;

/** Those values that are so; undefined where few are: whoever seeks them would not come to an end. */
export function those<T>(values: fc.Arbitrary<T>, areSo: (value: T) => boolean): fc.Arbitrary<T> | undefined {
  const found = fc.sample(values, { numRuns: SAMPLE, seed: 1 }).filter(areSo);
  return found.length >= SAMPLE / 16 ? values.filter(areSo) : undefined;
}
