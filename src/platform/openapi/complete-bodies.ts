import type { OpenAPIObject } from '@nestjs/swagger';
import { type Operation, operationsOf } from './operations.js';

type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;
type Schema = Schemas[string];

/**
 * Says of bodies what their classes imply: a request body has no other properties than those declared, because validation
 * refuses them; and every body has an example, put together from the examples of its properties.
 */
export function completeBodies(document: OpenAPIObject): void {
  const schemas = document.components?.schemas ?? {};
  for (const { operation } of operationsOf(document)) {
    for (const media of mediaTypes(operation.requestBody)) {
      Object.assign(resolve(media.schema, schemas), { additionalProperties: false });
    }
    for (const media of [operation.requestBody, ...Object.values(operation.responses)].flatMap(mediaTypes)) {
      media.example ??= exampleOf(media.schema, schemas);
    }
  }
}

type Body = Operation['requestBody'] | Operation['responses'][string];

function mediaTypes(body: Body) {
  return body && 'content' in body ? Object.values(body.content ?? {}) : [];
}

function exampleOf(reference: Schema | undefined, schemas: Schemas): unknown {
  const schema = resolve(reference, schemas);
  if ('properties' in schema) {
    const members = Object.entries(schema.properties ?? {}).map(([name, property]) => [name, exampleOf(property, schemas)]);
    return Object.fromEntries(members);
  }
  if ('items' in schema) {
    return [exampleOf(schema.items, schemas)];
  }
  return 'example' in schema ? schema.example : undefined;
}

function resolve(schema: Schema | undefined, schemas: Schemas): Schema | Record<string, never> {
  const name = schema && '$ref' in schema ? schema.$ref.split('/').at(-1) : undefined;
  return (name === undefined ? schema : schemas[name]) ?? {};
}
