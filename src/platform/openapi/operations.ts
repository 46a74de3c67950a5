import type { OpenAPIObject } from '@nestjs/swagger';

/** One operation of an OpenAPI document: a method on a path. */
export type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

export type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

export type Schema = Schemas[string];

/** Every operation of a document, with its path and `call`: `GET /v1/items`. */
export function operationsOf({ paths }: OpenAPIObject): { call: string; path: string; operation: Operation }[] {
  // Nest's documents have only operations in a path.
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({
      call: `${method.toUpperCase()} ${path}`,
      path,
      operation,
    })),
  );
}

/** The media types of a request body or response. */
export function mediaTypesOf(body: Operation['requestBody'] | Operation['responses'][string]) {
  return body && 'content' in body ? Object.values(body.content ?? {}) : [];
}

/** Follows a reference; empty without a schema. */
export function resolveSchema(schema: Schema | undefined, schemas: Schemas): Schema | Record<string, never> {
  const name = schema && '$ref' in schema ? schema.$ref.split('/').at(-1) : undefined;
  return (name === undefined ? schema : schemas[name]) ?? {};
}
