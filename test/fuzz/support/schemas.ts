import type { ErrorObject, ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonObject } from './json.js';

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);

/** By what their schemas say: many are put together anew for each value. */
const validators = new Map<string, ValidateFunction>();

/** What JSON Schema finds wrong with a value; nothing if it is valid. */
export function errorsOf(schema: JsonObject, value: unknown): readonly ErrorObject[] {
  const key = JSON.stringify(schema);
  const validate = validators.get(key) ?? ajv.compile(schema);
  validators.set(key, validate);
  return validate(value) ? [] : (validate.errors ?? []);
}

export function isValid(schema: JsonObject, value: unknown): boolean {
  return errorsOf(schema, value).length === 0;
}

/** The types that a schema admits; none where it does not say. */
export function typesOf(schema: JsonObject): readonly unknown[] {
  return [schema['type'] ?? []].flat();
}

/** A number that a schema gives. */
export function boundOf(schema: JsonObject, keyword: string, otherwise: number): number {
  const bound = schema[keyword];
  return typeof bound === 'number' ? bound : otherwise;
}
