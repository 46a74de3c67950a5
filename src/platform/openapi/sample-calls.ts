import type { OpenAPIObject } from '@nestjs/swagger';
import { mediaTypesOf, operationsOf } from './openapi-document.js';

/**
 * Commands for a shell, made of the examples of a document: `create` for its first POST, `list` for its first GET on that
 * path.
 *
 * @param origin - such as `http://localhost:3000`
 * @returns an empty object if every POST with a JSON object has path parameters
 */
export function sampleCalls(document: OpenAPIObject, origin: string, token: string): { create?: string; list?: string } {
  const operations = operationsOf(document).filter(({ path }) => !path.includes('{'));
  const created = operations.find(({ call, operation }) => call.startsWith('POST') && operation.requestBody);
  const [{ example } = {}] = mediaTypesOf(created?.operation.requestBody);
  if (!created || typeof example !== 'object') {
    return {};
  }
  const list = `curl -H 'Authorization: Bearer ${token}' ${origin}${created.path}`;
  const body = JSON.stringify(example).replaceAll("'", "'\\''");
  const isListed = operations.some(({ call }) => call === `GET ${created.path}`);
  return { create: `${list} -H 'Content-Type: application/json' -d '${body}'`, ...(isListed && { list }) };
}
