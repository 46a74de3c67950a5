import type { OpenAPIObject } from '@nestjs/swagger';
import { operationsOf } from '../openapi/operations.js';

/** Path of something that a newcomer can read with a token and nothing else; undefined where there is no such operation. */
export function exampleCall(document: OpenAPIObject): string | undefined {
  return operationsOf(document).find(
    ({ method, path, operation: { parameters = [], security, deprecated } }) =>
      method === 'get' &&
      !path.includes('{') &&
      security?.length !== 0 &&
      deprecated !== true &&
      !parameters.some((parameter) => 'required' in parameter && parameter.required),
  )?.path;
}
