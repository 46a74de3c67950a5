import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export type JsonObject = Readonly<Record<string, unknown>>;

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);

/** By the text of their schemas, which are made anew for each value. */
const validators = new Map<string, ValidateFunction>();

export function isValid(schema: JsonObject, value: unknown): boolean {
  const key = JSON.stringify(schema);
  const validate = validators.get(key) ?? ajv.compile(schema);
  validators.set(key, validate);
  return validate(value);
}

export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

export function typesOf(schema: JsonObject): readonly unknown[] {
  return [schema['type'] ?? []].flat();
}

export function boundOf(schema: JsonObject, keyword: string, otherwise: number): number {
  const bound = schema[keyword];
  return typeof bound === 'number' ? bound : otherwise;
}
