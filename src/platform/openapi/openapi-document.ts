import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Route } from '../routes/route.js';

/** One operation of an OpenAPI document: a method on a path. */
export type DocumentedOperation = NonNullable<OpenAPIObject['paths'][string]['get']>;

export type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

export type Schema = Schemas[string];

/** Every operation of a document, with its path and `call`: `GET /v1/items`. */
export function operationsOf({ paths }: OpenAPIObject): { call: string; path: string; operation: DocumentedOperation }[] {
  // Nest's documents have only operations in a path.
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, DocumentedOperation>).map(([method, operation]) => ({
      call: `${method.toUpperCase()} ${path}`,
      path,
      operation,
    })),
  );
}

export function mediaTypesOf(body: DocumentedOperation['requestBody'] | DocumentedOperation['responses'][string]) {
  return body && 'content' in body ? Object.values(body.content ?? {}) : [];
}

/** The name of the schema that a reference is to. */
export function nameIn({ $ref }: { readonly $ref: string }): string {
  return $ref.split('/').at(-1) ?? '';
}

/** Follows a reference; empty without a schema. */
export function resolveSchema(schema: Schema | undefined, schemas: Schemas): Exclude<Schema, { $ref: string }> {
  const resolved = schema && '$ref' in schema ? schemas[nameIn(schema)] : schema;
  return resolved && !('$ref' in resolved) ? resolved : {};
}

/** The OpenAPI 3.1 document of all features, with the platform's part of every operation. */
@Injectable()
export class OpenApiDocument {
  private document: OpenAPIObject | undefined;
  private operations: ReadonlyMap<Route['handler'], DocumentedOperation> = new Map();

  /** @param operations - of the document, by handler */
  set(document: OpenAPIObject, operations: ReadonlyMap<Route['handler'], DocumentedOperation>): void {
    this.document = document;
    this.operations = operations;
  }

  get(): OpenAPIObject {
    if (!this.document) {
      throw new Error('The OpenAPI document is served before it was built.');
    }
    return this.document;
  }

  /** Whether the document has the operation of a handler: it is not hidden. */
  has(handler: Route['handler']): boolean {
    return this.operations.has(handler);
  }

  /** The documented responses of a handler by status; empty for a hidden handler. */
  responsesOf(handler: Route['handler']): DocumentedOperation['responses'] {
    return this.operations.get(handler)?.responses ?? {};
  }
}
