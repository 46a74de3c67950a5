import { readFileSync } from 'node:fs';
import { isObject, type JsonObject } from './json.ts';

/** @throws Error that names the file, when it holds no OpenAPI document */
export function readDocument(file: string): JsonObject {
  try {
    const document: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (isObject(document) && isObject(document['paths'])) {
      return document;
    }
    throw new Error('it has no paths.');
  } catch (error) {
    throw new Error(`${file} is no OpenAPI document: ${Error.isError(error) ? error.message : String(error)}`, { cause: error });
  }
}
