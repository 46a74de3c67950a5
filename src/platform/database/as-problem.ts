import { HttpException } from '@nestjs/common';
import type { EntityMetadata } from 'typeorm';
import { internalError, typeOfStatus } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { asDatabaseProblem } from './database-problem.js';

/** Detail of a problem whose cause clients must not see. */
const FAILED = 'The service failed.';

/** The problem that clients get for an error: of Nest, of Express, of the database, or of anything else, which is 500. */
export function asProblem(error: unknown, entities: readonly EntityMetadata[] = []): Problem {
  if (error instanceof Problem) {
    return error;
  }
  if (error instanceof HttpException) {
    const type = typeOfStatus(error.getStatus());
    const { detail, members } = type.status < 500 ? contentsOf(error) : { detail: FAILED };
    return new Problem(type, detail, { members, cause: error });
  }
  const known = asHttpProblem(error) ?? asDatabaseProblem(error, entities);
  return known ?? new Problem(internalError, FAILED, { cause: error });
}

/** The problem of an error of `http-errors`, which Express throws, or of an object in that form, which Nest accepts, too. */
function asHttpProblem(error: unknown): Problem | undefined {
  const { message, expose, status, statusCode } = Object(error) as Record<string, unknown>;
  const [isInForm, code] = Error.isError(error)
    ? [typeof expose === 'boolean', status]
    : [typeof message === 'string', statusCode];
  if (!isInForm || !isErrorStatus(code)) {
    return undefined;
  }
  const type = typeOfStatus(code);
  const isShown = typeof expose === 'boolean' ? expose : code < 500;
  const hidden = code < 500 ? type.title : FAILED;
  return new Problem(type, isShown ? String(message) : hidden, { cause: error });
}

function isErrorStatus(code: unknown): code is number {
  return Number.isInteger(code) && Number(code) >= 400 && Number(code) < 600;
}

/**
 * The text of an exception, with several messages joined, and the other members of its response object. Messages that are
 * no texts, such as the errors of class-validator, stay a member.
 */
function contentsOf(exception: HttpException): { detail: string; members?: Readonly<Record<string, unknown>> } {
  const response = exception.getResponse();
  const isWhole = typeof response === 'string' || Array.isArray(response);
  const given = Object(isWhole ? { message: response } : response) as Record<string, unknown>;
  const { message, error, statusCode: _status, ...members } = given;
  const texts = [message ?? error].flat();
  const isText = texts.length > 0 && texts.every((text) => typeof text === 'string');
  const rest = isText || message === undefined ? members : { ...members, message };
  return { detail: isText ? texts.join('; ') : exception.message, members: rest };
}
