import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor, StreamableFile } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import { Configuration } from '../config/configuration.js';
import { isUsedBy } from '../routes/outermost.js';
import type { Route } from '../routes/route.js';
import { mediaTypesOf, OpenApiDocument, resolveSchema, type Schema, type Schemas } from '../openapi/openapi-document.js';

/** Copies what clients may get of a value. */
export type Copy = (value: unknown) => unknown;
type Part = Exclude<Schema, { $ref: string }>;

/**
 * Removes undocumented properties from responses, so that no column is sent by accident. `configureApp` moves it outside of
 * the interceptors of a controller, whose results are filtered, too.
 */
@Injectable()
export class ResponseInterceptor implements NestInterceptor {
  private readonly copies = new Map<unknown, Copy>();
  /** Of requests that it filters already. */
  private readonly contexts = new WeakSet<ExecutionContext>();

  constructor(
    private readonly document: OpenApiDocument,
    private readonly configuration: Configuration,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const handler = context.getHandler();
    // Undocumented properties must reach the check.
    if (this.configuration.CHECK_RESPONSES || this.contexts.has(context) || !isUsedBy(handler, ResponseInterceptor)) {
      return next.handle();
    }
    this.contexts.add(context);
    const copy = this.copies.getOrInsertComputed(handler, () => whitelistFor(handler, this.document));
    return next.handle().pipe(map(copy));
  }
}

/** Copies what the successful responses of a handler document. */
export function whitelistFor(handler: Route['handler'], document: OpenApiDocument): Copy {
  const responses = Object.entries(document.responsesOf(handler)).filter(([status]) => status.startsWith('2'));
  const documented = responses.flatMap(([, response]) => mediaTypesOf(response).flatMap(({ schema = [] }) => schema));
  return whitelistOf(documented, document.get().components?.schemas ?? {});
}

/** Copies the properties that any of the schemas documents. Objects with arbitrary properties are not copied. */
export function whitelistOf(alternatives: readonly Schema[], schemas: Schemas): Copy {
  // Compiled at first use, because a class may contain itself.
  const copyOf = (found: readonly Schema[]): Copy => {
    let copy: Copy | undefined;
    return (value) => (copy ??= whitelistOf(found, schemas))(value);
  };
  const parts = alternatives.flatMap((schema) => partsOf(schema, schemas));
  const keepsAll = parts.some(isOpen);
  const copyElement = copyOf(parts.flatMap(({ items = [] }) => items));
  const names = new Set(parts.flatMap(({ properties = {} }) => Object.keys(properties)));
  const properties = [...names].map(
    (name) => [name, copyOf(parts.flatMap((part) => part.properties?.[name] ?? []))] as const,
  );
  return (given) => {
    const isKept = keepsAll || isFile(given);
    const value = isKept ? given : ((given as Partial<Date> | null | undefined)?.toJSON?.() ?? given);
    if (isKept || typeof value !== 'object' || value === null) {
      return value;
    }
    if (Array.isArray(value)) {
      return value.map(copyElement);
    }
    const copy: Record<string, unknown> = {};
    for (const [name, copyProperty] of properties) {
      copy[name] = copyProperty(Reflect.get(value, name));
    }
    return copy;
  };
}

/** Whether a body is sent unchanged instead of as JSON. */
export function isFile(body: unknown): boolean {
  return typeof body === 'string' || ArrayBuffer.isView(body) || body instanceof StreamableFile;
}

function partsOf(reference: Schema, schemas: Schemas): Part[] {
  const schema = resolveSchema(reference, schemas);
  const { allOf = [], anyOf = [], oneOf = [] } = schema;
  return [schema, ...[...allOf, ...anyOf, ...oneOf].flatMap((part) => partsOf(part, schemas))];
}

function isOpen({ type = 'object', additionalProperties = false, ...rest }: Part): boolean {
  const isNamed = ['properties', 'items', 'allOf', 'anyOf', 'oneOf'].some((keyword) => keyword in rest);
  return additionalProperties !== false || (!isNamed && type.includes('object'));
}
