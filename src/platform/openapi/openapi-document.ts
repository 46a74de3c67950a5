import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { OperatorError } from '../errors/operator-error.js';
import type { Route } from '../routes/route.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;
type Inline<Part> = Exclude<Part, { $ref: string }>;

/** One operation of an OpenAPI document. Nest's documents refer only to schemas; the platform adds references to headers. */
export type DocumentedOperation = Omit<Operation, 'parameters' | 'requestBody' | 'responses'> & {
  parameters?: Inline<NonNullable<Operation['parameters']>[number]>[];
  requestBody?: Inline<NonNullable<Operation['requestBody']>>;
  responses: Record<string, Inline<NonNullable<Operation['responses'][string]>>>;
};

/** A method on a path, and both as `call`: `GET /v1/items`. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly call: string;
  readonly operation: DocumentedOperation;
}

export type Schemas = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>;

export type Schema = Schemas[string];

/** Every operation of a document. */
export function operationsOf({ paths }: OpenAPIObject): Call[] {
  // In Nest's documents, a path has no other members than operations.
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, DocumentedOperation>).map(([name, operation]) => {
      const method = name.toUpperCase();
      return { method, path, call: `${method} ${path}`, operation };
    }),
  );
}

/** The contents of a request or response body by media type; none if there is no body. */
export function mediaTypesOf(body: Pick<DocumentedOperation['responses'][string], 'content'> | undefined) {
  return Object.values(body?.content ?? {});
}

/** The name of the schema to which a reference points. */
export function nameIn({ $ref }: { readonly $ref: string }): string {
  return $ref.split('/').at(-1) ?? '';
}

/** Resolves a reference; an empty schema if there is none. */
export function resolveSchema(schema: Schema | undefined, schemas: Schemas): Inline<Schema> {
  const resolved = schema && '$ref' in schema ? schemas[nameIn(schema)] : schema;
  return resolved && !('$ref' in resolved) ? resolved : {};
}

/** The OpenAPI 3.1 document of all features, with the platform's part of every operation. */
@Injectable()
export class OpenApiDocument {
  private document: OpenAPIObject | undefined;
  private calls: ReadonlyMap<Route['handler'], Call> = new Map();

  /** @param calls - the operations of the document by handler */
  set(document: OpenAPIObject, calls: ReadonlyMap<Route['handler'], Call>): void {
    this.document = document;
    this.calls = calls;
  }

  /** @throws OperatorError if the application was not configured */
  get(): OpenAPIObject {
    if (!this.document) {
      throw new OperatorError('Call configureApp(app) of src/app.ts before app.init() or app.listen().');
    }
    return this.document;
  }

  /** The operation of a handler; undefined if the document does not have it. */
  find(handler: Route['handler']): Call | undefined {
    return this.calls.get(handler);
  }
}
