import { nameIn, type OpenApiDocument, resolveSchema, type Schema, type Schemas } from '../openapi/openapi-document.js';
import { nameOf, type Route } from '../routes/route.js';
import { isOpen, othersOf, responseSchemas } from './whitelist.js';

/**
 * Finds objects and lists that a route's responses document without what they contain, such as a property whose type is an
 * interface: the whitelist would keep all that they contain.
 *
 * @returns names such as `Cat.owner` and `Cat.toys[]`
 */
export function openPartsOf(route: Route, document: OpenApiDocument): string[] {
  const seen = new Set<string>();
  return responseSchemas(route.handler, document).flatMap((schema) =>
    openPartsWithin(schema, document.get().components?.schemas ?? {}, `The response of ${nameOf(route)}`, seen),
  );
}

/** @param seen - names of classes that are not searched again */
function openPartsWithin(reference: Schema, schemas: Schemas, name: string, seen: Set<string>): string[] {
  if ('$ref' in reference) {
    const className = nameIn(reference);
    const isSeen = seen.has(className);
    return isSeen ? [] : openPartsWithin(resolveSchema(reference, schemas), schemas, className, seen.add(className));
  }
  const { properties = {}, items = [], additionalProperties, allOf = [], anyOf = [], oneOf = [] } = reference;
  // `additionalProperties: true` says that everything is to be sent.
  const isMeant = additionalProperties === true;
  const within = (part: Schema, partName: string) => openPartsWithin(part, schemas, partName, seen);
  if (isOpen(reference) && !isMeant) return [name];
  return [
    ...Object.entries(properties).flatMap(([property, part]) => within(part, `${name}.${property}`)),
    ...[items].flat().flatMap((part) => within(part, `${name}[]`)),
    ...(isMeant ? [] : othersOf(reference)).flatMap((part) => within(part, `${name}.*`)),
    ...[...allOf, ...anyOf, ...oneOf].flatMap((part) => within(part, name)),
  ];
}
