import type { OpenAPIObject } from '@nestjs/swagger';
import { mediaTypesOf, operationsOf, resolveSchema, type Schema, type Schemas } from './operations.js';

/**
 * Closes request bodies, because validation rejects unknown properties, and gives each body an example made of the examples of its
 * properties.
 */
export function completeBodies(document: OpenAPIObject): void {
  const schemas = document.components?.schemas ?? {};
  for (const { operation } of operationsOf(document)) {
    for (const media of mediaTypesOf(operation.requestBody)) {
      Object.assign(resolveSchema(media.schema, schemas), { additionalProperties: false });
    }
    for (const media of [operation.requestBody, ...Object.values(operation.responses)].flatMap(mediaTypesOf)) {
      if (!media.examples) {
        media.example ??= exampleOf(media.schema, schemas);
      }
    }
  }
}

/** @param above - schemas that contain this one, to stop at recursive classes */
function exampleOf(reference: Schema | undefined, schemas: Schemas, above: readonly unknown[] = []): unknown {
  const schema = resolveSchema(reference, schemas);
  const within = (part: Schema) => exampleOf(part, schemas, [...above, schema]);
  if (above.includes(schema)) {
    return undefined;
  }
  if ('example' in schema) {
    return schema.example;
  }
  if ('allOf' in schema) {
    return Object.assign({}, ...(schema.allOf ?? []).map(within)) as object;
  }
  if ('properties' in schema) {
    return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, property]) => [name, within(property)]));
  }
  return 'items' in schema ? [within(schema.items)] : undefined;
}
