import { HttpException } from '@nestjs/common';
import type { EntityMetadata } from 'typeorm';
import { isError } from '../errors/describe-error.js';
import { internalError, type ProblemType, typeOfStatus } from '../problems/problem-types.js';
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
    const status: unknown = error.getStatus();
    // Nest takes any value as the status, such as the code of an error of the network.
    const type = isStatus(status, 200) ? typeOfStatus(status) : internalError;
    const { detail, members } = type.status < 500 ? contentsOf(error, type) : { detail: FAILED };
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
  if (!isInForm || !isStatus(code, 400)) {
    return undefined;
  }
  const type = typeOfStatus(code);
  const isShown = typeof expose === 'boolean' ? expose : code < 500;
  const hidden = code < 500 ? type.title : FAILED;
  return new Problem(type, isShown ? String(message) : hidden, { cause: error });
}

function isStatus(code: unknown, minimum: number): code is number {
  return Number.isInteger(code) && Number(code) >= minimum && Number(code) < 600;
}

/**
 * The text of an exception, with several messages joined, and the other members of its response object, which may be a
 * problem. Messages that are no texts, such as the errors of class-validator, stay a member. Of an error as the response,
 * Nest sends nothing.
 */
function contentsOf(exception: HttpException, { title }: ProblemType): Pick<Problem, 'members'> & { detail: string } {
  const response: unknown = exception.getResponse();
  const code = exception.errorCode === undefined ? {} : { errorCode: exception.errorCode };
  if (isError(response)) {
    return { detail: title, members: code };
  }
  const isWhole = typeof response === 'string' || Array.isArray(response);
  const given = Object(isWhole ? { ...code, message: response } : response) as Record<string, unknown>;
  const { message, detail, error, statusCode: _status, ...members } = given;
  const texts = [message ?? (typeof detail === 'string' ? detail : error)].flat();
  const isText = texts.length > 0 && texts.every((text) => typeof text === 'string');
  const rest = isText || message === undefined ? members : { ...members, message };
  return { detail: isText ? texts.join('; ') : exception.message, members: rest };
}
