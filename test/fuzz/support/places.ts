import { asList, asObject, type JsonObject } from './json.js';
import type { Described, Parameter } from './described.js';

/** A value of a request that a schema describes: the body, a property in it, or a parameter. */
export interface Place {
  readonly in: string;
  /** Names of properties from the body down, or the name of the parameter. */
  readonly path: readonly string[];
  readonly schema: JsonObject;
  readonly required: boolean;
}

/** Every place of an operation that has a schema. */
export function placesOf({ parameters, body }: Described): Place[] {
  return [...parameters.map(placeOfParameter), ...(body ? placesIn(body, [], true) : [])];
}

export function placeOfParameter({ in: location, name, schema, required }: Parameter): Place {
  return { in: location, path: [name], schema, required };
}

/** A schema, and those of the properties in it. */
export function placesIn(schema: JsonObject, path: readonly string[], required: boolean): Place[] {
  const names = asList(schema['required']);
  const properties = Object.entries(asObject(schema['properties']));
  return [
    { in: 'body', path, schema, required },
    ...properties.flatMap(([name, property]) => placesIn(asObject(property), [...path, name], names.includes(name))),
  ];
}

/** How problems name a place: a JSON Pointer (RFC 6901) for the body and what is in it, the name for a parameter. */
export function nameOf({ in: location, path }: Pick<Place, 'in' | 'path'>): string {
  return location === 'body' ? path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('') : path.join();
}
