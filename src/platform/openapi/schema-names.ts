import type { Type } from '@nestjs/common';
import { nameOf, type Route } from '../routes/route.js';
import { handlerInputs } from '../validation/handler-inputs.js';
import { classOf, documentedProperties } from './documented-properties.js';
import { schemas } from './platform-components.js';

/** Where a class is documented, for messages. */
type Places = Map<Type<object>, string>;

/** Schemas that share a name: the document would show one of them in the place of both. */
export function schemaNameFaults(routes: readonly Route[]): string[] {
  const places: Places = new Map();
  for (const route of routes) {
    [handlerInputs(route).body, ...answersOf(route)].forEach((type) => type && collect(type, nameOf(route), places));
  }
  const byName = Map.groupBy(places.keys(), schemaName);
  return [...byName].flatMap(([name, types]) => {
    const users = types
      .flatMap((type) => places.get(type) ?? [])
      .toSorted()
      .join(' and ');
    if (Object.hasOwn(schemas, name)) {
      return [`${users} documents a class ${name}, as the platform does: give it another name.`];
    }
    return types.length > 1 ? [`${users} document different classes that are named ${name}: give one of them another name.`] : [];
  });
}

/** The classes of its answers, and those that it says are part of the document as well. */
function answersOf({ controller, handler }: Route): Type<object>[] {
  return [controller, handler].flatMap((target) => {
    const answers = (Reflect.getMetadata('swagger/apiResponse', target) ?? {}) as Record<string, { type?: Type<object> }>;
    const models = (Reflect.getMetadata('swagger/apiExtraModels', target) ?? []) as Type<object>[];
    return models.concat(Object.values(answers).flatMap(({ type }) => type ?? []));
  });
}

/** `@ApiSchema` may give it another one. */
function schemaName(type: Type): string {
  const [{ name } = { name: undefined }] = (
    (Reflect.getOwnMetadata('swagger/apiSchema', type) ?? []) as { name?: string }[]
  ).slice(-1);
  return name ?? type.name;
}

function collect(type: Type<object>, place: string, places: Places): void {
  if (places.has(type)) {
    return;
  }
  const properties = Object.values(documentedProperties(type));
  if (properties.length > 0) {
    places.set(type, place);
  }
  properties.forEach((property) => {
    const inner = classOf(property);
    if (inner) {
      collect(inner, place, places);
    }
  });
}
