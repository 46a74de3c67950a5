import * as fc from 'fast-check';
import { isObject, type JsonObject } from './json.js';
import { type Place, placesIn } from './places.js';
import { boundOf, typesOf } from './schemas.js';
import { seeded, textsOf } from './valid-texts.js';

/** JSON values that a schema admits: with and without what is optional, and each part of it up to its bounds. */
export function valuesOf(schema: JsonObject): fc.Arbitrary<unknown> {
  const leaves = placesIn(schema, [], true).filter((place) => place.path.length > 0 && place.schema['properties'] === undefined);
  const values = leaves.map((leaf) => fc.option(leafValues(leaf.schema), { nil: undefined, freq: 3 }));
  return fc
    .tuple(seeded(schema), ...values)
    .map(([base, ...chosen]) =>
      leaves.reduce(
        (value, leaf, index) => (chosen[index] === undefined ? value : withValue(value, leaf.path, chosen[index])),
        base,
      ),
    );
}

/** Values of what has no parts. */
export function leafValues(schema: JsonObject): fc.Arbitrary<unknown> {
  const byType: Record<string, () => fc.Arbitrary<unknown>> = {
    null: () => fc.constant(null),
    boolean: () => fc.boolean(),
    string: () => textsOf(schema),
    integer: () => integersOf(schema),
  };
  return fc.oneof(...typesOf(schema).map((type) => byType[String(type)]?.() ?? seeded({ ...schema, type })));
}

function integersOf(schema: JsonObject): fc.Arbitrary<number> {
  const min = boundOf(schema, 'minimum', Number.MIN_SAFE_INTEGER);
  const max = boundOf(schema, 'maximum', Number.MAX_SAFE_INTEGER);
  return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max }), seeded(schema) as fc.Arbitrary<number>);
}

/** The same with another value somewhere in it; undefined takes out what is there. An object on the way that is absent stays so. */
export function withValue(root: unknown, [name, ...rest]: Place['path'], value: unknown): unknown {
  if (name === undefined) {
    return value;
  }
  if (!isObject(root)) {
    return root;
  }
  const { [name]: before, ...others } = root;
  const after = withValue(before, rest, value);
  // An object literal would take __proto__ for its prototype.
  return after === undefined ? others : Object.fromEntries([...Object.entries(others), [name, after]]);
}
