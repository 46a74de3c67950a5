import type { OpenAPIObject } from '@nestjs/swagger';

/** One operation of an OpenAPI document: a method on a path. */
export type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

/** The named schemas of a document. */
export type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

/** A schema, or a reference to a named one. */
export type Schema = Schemas[string];

/** Every operation of a document, with its path and the `call` of it: `GET /v1/items`. */
export function operationsOf({ paths }: OpenAPIObject): { call: string; path: string; operation: Operation }[] {
  // Nest writes no other members into a path than operations.
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({
      call: `${method.toUpperCase()} ${path}`,
      path,
      operation,
    })),
  );
}

/** The contents of a request body or of a response. */
export function mediaTypesOf(body: Operation['requestBody'] | Operation['responses'][string]) {
  return body && 'content' in body ? Object.values(body.content ?? {}) : [];
}

/** What a schema refers to, or itself; empty for none. */
export function resolveSchema(schema: Schema | undefined, schemas: Schemas): Schema | Record<string, never> {
  const name = schema && '$ref' in schema ? schema.$ref.split('/').at(-1) : undefined;
  return (name === undefined ? schema : schemas[name]) ?? {};
}
