import type { OpenAPIObject } from '@nestjs/swagger';
import { mediaTypesOf, operationsOf } from './openapi-document.js';

/**
 * Commands for a shell, which end with the URL: `create` for the first POST that documents an example of its body, `list`
 * for a GET on that path, or else for the first GET. Operations with path parameters do not count.
 *
 * @param origin - such as `http://localhost:3000`
 * @param token - or the name of a variable of the shell, with its dollar sign
 */
export function sampleCalls(document: OpenAPIObject, origin: string, token: string): { create?: string; list?: string } {
  const calls = operationsOf(document).filter(({ path }) => !path.includes('{'));
  const [created] = calls.flatMap(({ method, path, operation }) => {
    const [media] = method === 'POST' ? mediaTypesOf(operation.requestBody) : [];
    const [named] = Object.values(media?.examples ?? {});
    const body: unknown = media?.example ?? (named && 'value' in named ? named.value : undefined);
    return typeof body === 'object' ? { path, json: JSON.stringify(body).replaceAll("'", String.raw`'\''`) } : [];
  });
  const listed = calls.find(({ method, path }) => method === 'GET' && path === (created?.path ?? path));
  const request = `curl -H "Authorization: Bearer ${token}"`;
  return {
    ...(created && {
      create: `${request} -H 'Content-Type: application/json' -d '${created.json}' ${origin}${created.path}`,
    }),
    ...(listed && { list: `${request} ${origin}${listed.path}` }),
  };
}
