import { resolveSchema, type Schema, type Schemas } from '../openapi/openapi-document.js';
import { othersOf, type Part, partsOf } from './whitelist.js';

/**
 * Makes the components to which the schemas of {@link closeSchema} refer, and which reject undocumented properties.
 *
 * @returns `closed` for whole values; `schemas` for parts of composed objects, closed only in what they contain
 */
export function closeSchemas(schemas: Schemas): { schemas: Schemas; closed: Schemas } {
  const names = Object.keys(schemas);
  const contents = names.map((name) => [name, closeContents(resolveSchema(schemas[name], schemas), schemas)] as const);
  const closed = contents.map(([name, schema]) => [name, close(schema, schemas)] as const);
  return { schemas: Object.fromEntries(contents), closed: Object.fromEntries(closed) };
}

/** Makes the schema of a value reject undocumented properties. */
export function closeSchema(schema: Schema, schemas: Schemas): Schema {
  return '$ref' in schema
    ? { $ref: schema.$ref.replace('/schemas/', '/closed/') }
    : close(closeContents(schema, schemas), schemas);
}

/** Closes the values in an object or a list, but not parts of a composed object: each has only some of its properties. */
function closeContents(schema: Part, schemas: Schemas): Part {
  const { properties, items, additionalProperties: others, allOf, anyOf, oneOf } = schema;
  const closeValue = (value: Schema) => closeSchema(value, schemas);
  const closePart = (part: Schema) => ('$ref' in part ? part : closeContents(part, schemas));
  const closeAlternative = isUnion(schema) ? closeValue : closePart;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, closeValue(value)])),
    }),
    ...(items && { items: closeValue(items) }),
    ...(typeof others === 'object' && { additionalProperties: closeValue(others) }),
    ...(allOf && { allOf: allOf.map(closePart) }),
    ...(anyOf && { anyOf: anyOf.map(closeAlternative) }),
    ...(oneOf && { oneOf: oneOf.map(closeAlternative) }),
  };
}

function close(schema: Part, schemas: Schemas): Schema {
  const parts = partsOf(schema, schemas);
  if (isUnion(schema) || !parts.some(({ properties }) => properties) || parts.some((part) => othersOf(part).length > 0)) {
    return schema;
  }
  return { ...schema, ...(parts.length > 1 ? { unevaluatedProperties: false } : { additionalProperties: false }) };
}

/** Whether a value has one of several schemas, each of which has all of its properties. */
function isUnion({ properties, allOf, anyOf, oneOf }: Part): boolean {
  return Boolean(anyOf ?? oneOf) && !properties && !allOf;
}
