import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import { EXCEPTION_FILTERS_METADATA } from '@nestjs/common/constants.js';
import type { Request, Response } from 'express';
import { type Observable, throwError } from 'rxjs';
import { DataSource, QueryFailedError } from 'typeorm';
import { asProblem } from '../database/as-problem.js';
import { warnOnceAMinute } from '../errors/warn-once-a-minute.js';
import type { Route } from '../routes/route.js';
import { internalError } from '../problems/problem-types.js';
import { sendJson } from './express.js';
import { Problem, PROBLEM_MEDIA_TYPE, problemJson } from '../problems/problem.js';

/** Maps every error to a problem. The cause of a server error is logged, never sent. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Problem');
  private readonly warn = warnOnceAMinute(this.logger);

  constructor(private readonly dataSource?: DataSource) {}

  /** @returns for a microservice, what Nest sends; undefined leaves errors of its protocols, such as `RpcException`, to Nest */
  catch(error: unknown, host: ArgumentsHost): Observable<never> | undefined {
    const type = host.getType<string>();
    if (type !== 'http' && ('getError' in Object(error) || 'extensions' in Object(error))) {
      return undefined;
    }
    const problem = asProblem(error, this.dataSource?.entityMetadatas);
    this.log(problem);
    if (type === 'http') {
      sendResponse(problem, ...host.getArgs<[Request, Response]>());
    } else if (type === 'ws') {
      sendMessage(problem, host.switchToWs().getClient());
    } else if (type === 'rpc') {
      return throwError(() => JSON.parse(problemJson(problem)) as unknown);
    } else {
      const { name, title } = problem.type;
      const code = (name === 'about:blank' ? title : name).toUpperCase().replaceAll(/[^A-Z]+/g, '_');
      // What GraphQL sends beside the message.
      throw Object.assign(problem, { extensions: { code, ...(JSON.parse(problemJson(problem)) as object) } });
    }
    return undefined;
  }

  private log(problem: Problem): void {
    const { type, message, cause } = problem;
    if (type.status === internalError.status) {
      this.logger.error({ msg: 'request failed', err: cause ?? problem });
    } else if (type.status > internalError.status || cause instanceof QueryFailedError) {
      this.warn(message, cause);
    }
  }
}

/** For handlers of messages, where Nest runs no global filter. Leaves other errors to Nest, which sends no cause either. */
@Catch(Problem, HttpException)
class MessageFilter extends ProblemFilter {}

const messageFilter = new MessageFilter();

/** Adds the filter for problems to the class of a handler of messages, after the filters of its own. */
export function filterProblems({ controller }: Pick<Route, 'controller'>): void {
  const own = (Reflect.getMetadata(EXCEPTION_FILTERS_METADATA, controller) ?? []) as unknown[];
  if (!own.includes(messageFilter)) {
    // Nest tries the last one first.
    Reflect.defineMetadata(EXCEPTION_FILTERS_METADATA, [messageFilter, ...own], controller);
  }
}

function sendResponse(problem: Problem, request: Request, response: Response): void {
  request.problem = problem;
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

/** Sends what Nest sends for a `WsException`, to a client of `ws` or of Socket.IO. */
function sendMessage(problem: Problem, client: { send(text: string): void; emit(event: string, data: unknown): void }): void {
  const json = problemJson(problem);
  if ('readyState' in client) {
    client.send(`{"event":"exception","data":${json}}`);
  } else {
    client.emit('exception', JSON.parse(json));
  }
}
