import type { OpenAPIObject } from '@nestjs/swagger';

/** One operation of an OpenAPI document: a method on a path. */
export type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

/** Every operation of a document, with its path. */
export function operationsOf({ paths }: OpenAPIObject): { path: string; operation: Operation }[] {
  return Object.entries(paths).flatMap(([path, { get, put, post, patch, delete: remove }]) =>
    [get, put, post, patch, remove].flatMap((operation) => (operation ? [{ path, operation }] : [])),
  );
}
