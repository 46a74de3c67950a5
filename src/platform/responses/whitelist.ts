import { StreamableFile } from '@nestjs/common';
import {
  mediaTypesOf,
  type OpenApiDocument,
  resolveSchema,
  type Schema,
  type Schemas,
} from '../openapi/openapi-document.js';
import { isResultConverted, type Route } from '../routes/route.js';

/** Copies what clients may get of a value. */
export type Copy = (value: unknown) => unknown;
type Part = Exclude<Schema, { $ref: string }>;

/** The schemas of a handler's successful responses; none of a hidden handler. */
export function responseSchemas(handler: Route['handler'], document: OpenApiDocument): Schema[] {
  const all = document.find(handler)?.operation.responses ?? {};
  const responses = Object.entries(all).filter(([status]) => status.startsWith('2'));
  return responses.flatMap(([, response]) => mediaTypesOf(response).flatMap(({ schema = [] }) => schema));
}

/** Copies what successful responses document, if anything. @returns undefined for hidden handlers and converted results */
export function whitelistFor({ handler }: Pick<Route, 'handler'>, document: OpenApiDocument): Copy | undefined {
  const documented = responseSchemas(handler, document);
  const copy = whitelistOf(documented, document.get().components?.schemas ?? {});
  const copyBody: Copy = documented.length > 0 ? copy : () => undefined;
  const isLimited = document.find(handler) && !isResultConverted({ handler });
  return isLimited ? (value) => (isFile(value) ? value : copyBody(value)) : undefined;
}

/** Makes the function that copies the properties that any of the schemas documents, and all that they leave open. */
export function whitelistOf(alternatives: readonly Schema[], schemas: Schemas): Copy {
  // Compiled at first use, because a class may contain itself.
  const copyOf = (found: readonly Schema[]): Copy => {
    let copy: Copy | undefined;
    return (value) => (copy ??= whitelistOf(found, schemas))(value);
  };
  const parts = alternatives.flatMap((schema) => subschemasOf(schema, schemas));
  const keepsAll = parts.some(isOpen);
  const copyElement = copyOf(parts.flatMap(({ items = [] }) => items));
  const names = new Set(parts.flatMap(({ properties = {} }) => Object.keys(properties)));
  const properties = [...names].map(
    (name) => [name, copyOf(parts.flatMap((part) => part.properties?.[name] ?? othersOf(part)))] as const,
  );
  const others = parts.flatMap(othersOf);
  const copyOther = others.length > 0 ? copyOf(others) : undefined;
  return (given) => {
    const written = given as Partial<Date> | null | undefined;
    // Null for an invalid time.
    const value = keepsAll || !written?.toJSON ? given : written.toJSON();
    if (keepsAll || typeof value !== 'object' || value === null) {
      return value;
    }
    if (Array.isArray(value)) {
      return value.map(copyElement);
    }
    const copy: Record<string, unknown> = {};
    for (const [name, copyProperty] of properties) {
      copy[name] = copyProperty(Reflect.get(value, name));
    }
    if (!copyOther) {
      return copy;
    }
    const unnamed = Object.entries(value).filter(([name]) => !names.has(name));
    return { ...copy, ...Object.fromEntries(unnamed.map(([name, other]) => [name, copyOther(other)])) };
  };
}

/** Whether a body is sent unchanged instead of as JSON. */
export function isFile(body: unknown): boolean {
  return typeof body === 'string' || ArrayBuffer.isView(body) || body instanceof StreamableFile;
}

/** A schema, and those that it is composed of. */
function subschemasOf(reference: Schema, schemas: Schemas): Part[] {
  const schema = resolveSchema(reference, schemas);
  const { allOf = [], anyOf = [], oneOf = [] } = schema;
  return [schema, ...[...allOf, ...anyOf, ...oneOf].flatMap((part) => subschemasOf(part, schemas))];
}

/** The schema of the properties that a schema does not name, if there can be any. */
export function othersOf({ additionalProperties = false }: Part): Schema[] {
  const anything: Schema = {};
  return typeof additionalProperties === 'object' ? [additionalProperties] : additionalProperties ? [anything] : [];
}

/** Keywords that say what an object or a list contains, or which values are allowed. */
const CONTENTS = ['properties', 'items', 'allOf', 'anyOf', 'oneOf', 'enum', 'const'];

/** Whether a schema documents objects or lists without what they contain. */
export function isOpen(part: Part): boolean {
  const { type = 'object', additionalProperties = true } = part;
  const isContainer = type.includes('object') || type.includes('array');
  return isContainer && additionalProperties === true && !CONTENTS.some((keyword) => keyword in part);
}
