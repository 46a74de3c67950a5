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
    const status = error.getStatus();
    return new Problem(typeOfStatus(status), status < 500 ? messageOf(error) : 'The service failed.', { cause: error });
  }
  // Errors of Express and its packages (`http-errors`) with a message for the client.
  if (Error.isError(error) && 'expose' in error && error.expose === true) {
    const status = 'status' in error ? Number(error.status) : 400;
    return new Problem(typeOfStatus(status), error.message, { cause: error });
  }
  return asDatabaseProblem(error, entities) ?? new Problem(internalError, 'The service failed.', { cause: error });
}

/** Joins the messages of `new BadRequestException(['…', '…'])`. */
function messageOf(error: HttpException): string {
  const { message } = Object(error.getResponse()) as { message?: unknown };
  return Array.isArray(message) ? message.join('; ') : error.message;
}
