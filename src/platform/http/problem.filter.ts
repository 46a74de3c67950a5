import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { Request, Response } from 'express';
import { QueryFailedError } from 'typeorm';
import { asDatabaseProblem } from '../database/database-problem.js';
import { warnOnceAMinute } from '../observability/warn-once-a-minute.js';
import { internalError, typeOfStatus } from './problem-types.js';
import { sendJson } from './express.js';
import { Problem, PROBLEM_MEDIA_TYPE, problemJson } from './problem.js';

/** Maps every error to a problem. The cause of a server error is logged, never sent. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Problem');
  private readonly warn = warnOnceAMinute(this.logger);

  catch(error: unknown, host: ArgumentsHost): void {
    const [request, response] = host.getArgs<[Request, Response]>();
    const problem = asProblem(error);
    request.problem = problem;
    this.log(problem);
    if (response.headersSent) {
      response.destroy();
      return;
    }
    response.statusCode = problem.type.status;
    for (const [name, value] of Object.entries(problem.headers)) {
      response.setHeader(name, value);
    }
    response.setHeader('Content-Type', `${PROBLEM_MEDIA_TYPE}; charset=utf-8`);
    sendJson(response, problemJson(problem, request.path, request.id));
  }

  private log({ type: { status }, message, cause }: Problem): void {
    if (status === internalError.status) {
      this.logger.error({ msg: 'request failed', err: cause });
    } else if (status > internalError.status || cause instanceof QueryFailedError) {
      this.warn(message, cause);
    }
  }
}

function asProblem(error: unknown): Problem {
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
  return asDatabaseProblem(error) ?? new Problem(internalError, 'The service failed.', { cause: error });
}

/** Joins the messages of `new BadRequestException(['…', '…'])`. */
function messageOf(error: HttpException): string {
  const { message } = Object(error.getResponse()) as { message?: unknown };
  return Array.isArray(message) ? message.join('; ') : error.message;
}
