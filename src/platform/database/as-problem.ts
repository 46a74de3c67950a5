import { HttpException } from '@nestjs/common';
import type { EntityMetadata } from 'typeorm';
import { internalError, typeOfStatus } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { asDatabaseProblem } from './database-problem.js';

/** The problem that clients get for an error: of Nest, of Express, of the database, or of anything else, which is 500. */
export function asProblem(error: unknown, entities: readonly EntityMetadata[] = []): Problem {
  if (error instanceof Problem) {
    return error;
  }
  if (error instanceof HttpException) {
    const type = typeOfStatus(error.getStatus());
    const { detail, members } = type.status < 500 ? partsOf(error) : { detail: 'The service failed.' };
    return new Problem(type, detail, { members, cause: error });
  }
  // Errors of Express and its packages (`http-errors`) with a message for the client.
  if (Error.isError(error) && 'expose' in error && error.expose === true) {
    const status = 'status' in error ? Number(error.status) : 400;
    return new Problem(typeOfStatus(status), error.message, { cause: error });
  }
  return asDatabaseProblem(error, entities) ?? new Problem(internalError, 'The service failed.', { cause: error });
}

/** The text of an exception, several messages joined, and the further members of the object that it was made with. */
function partsOf(exception: HttpException): { detail: string; members?: Readonly<Record<string, unknown>> } {
  const response = exception.getResponse();
  const given = Object(typeof response === 'string' ? { message: response } : response) as Record<string, unknown>;
  const { message, error, statusCode: _status, ...members } = given;
  const texts = [message ?? error].flat();
  const isText = texts.length > 0 && texts.every((text) => typeof text === 'string');
  return { detail: isText ? texts.join('; ') : exception.message, members };
}
