import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import { EXCEPTION_FILTERS_METADATA } from '@nestjs/common/constants.js';
import type { Request, Response } from 'express';
import { type Observable, throwError } from 'rxjs';
import { challenge } from '../auth/scopes.guard.js';
import { Configuration } from '../config/configuration.js';
import { pathPrefixOf } from '../config/origins.js';
import { DataSource, QueryFailedError } from 'typeorm';
import { asProblem } from '../database/as-problem.js';
import { warnOnceAMinute } from '../errors/warn-once-a-minute.js';
import type { Route } from '../routes/route.js';
import { internalError } from '../problems/problem-types.js';
import { sendJson } from './express.js';
import { Problem, PROBLEM_MEDIA_TYPE, problemJson } from '../problems/problem.js';

/** Maps every error to a problem. The cause of a server error is logged, never sent. A filter of all errors extends it. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Problem');
  private readonly warn = warnOnceAMinute(this.logger);
  private readonly prefix;

  constructor(
    { PUBLIC_URL }: Configuration,
    /** Not given to `MessageFilter`, which is made without Nest. */
    private readonly dataSource?: DataSource,
  ) {
    this.prefix = pathPrefixOf(PUBLIC_URL);
  }

  /** @returns what Nest sends for a microservice, else undefined. Errors like `RpcException` are left to Nest */
  catch(error: unknown, host: ArgumentsHost): Observable<never> | undefined {
    const type = host.getType<string>();
    if (type !== 'http' && ('getError' in Object(error) || 'extensions' in Object(error))) {
      return undefined;
    }
    const problem = asProblem(error, this.dataSource?.entityMetadatas);
    this.log(problem);
    if (type === 'http') {
      sendResponse(problem, this.prefix, ...host.getArgs<[Request, Response]>());
      return undefined;
    }
    const json = problemJson(problem, undefined, undefined, this.prefix);
    if (type === 'ws') {
      sendMessage(json, host.switchToWs().getClient());
    } else if (type === 'rpc') {
      return throwError(() => JSON.parse(json) as unknown);
    } else {
      const { name, title } = problem.type;
      const code = (name === 'about:blank' ? title : name).toUpperCase().replaceAll(/[^A-Z]+/g, '_');
      // GraphQL sends the `extensions` of an error beside its message.
      throw Object.assign(problem, { extensions: { code, ...(JSON.parse(json) as object) } });
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

/** For handlers of messages, on which Nest runs no global filter. Leaves other errors to Nest, which hides their cause. */
@Catch(Problem, HttpException)
class MessageFilter extends ProblemFilter {}

/** Adds the filter for problems to the classes of message handlers. It runs only if no filter of their own matches. */
export function addMessageFilter(handlers: readonly Pick<Route, 'controller'>[], configuration: Configuration): void {
  const filter = new MessageFilter(configuration);
  for (const { controller } of handlers) {
    const filters = (Reflect.getMetadata(EXCEPTION_FILTERS_METADATA, controller) ?? []) as unknown[];
    const own = filters.filter((each) => !(each instanceof MessageFilter));
    // Nest tries the last one first.
    Reflect.defineMetadata(EXCEPTION_FILTERS_METADATA, [filter, ...own], controller);
  }
}

/** Headers of a result, which its route may have set before it failed. */
const OF_RESULTS = ['Content-Disposition', 'Content-Encoding', 'Content-Range', 'ETag', 'Last-Modified'];

function sendResponse(problem: Problem, prefix: string, request: Request, response: Response): void {
  request.problem = problem;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // With `Content-Encoding`, clients could not read the problem; with `Cache-Control`, caches would store it.
  OF_RESULTS.forEach((name) => response.removeHeader(name));
  response.setHeader('Cache-Control', 'no-store');
  response.statusCode = problem.type.status;
  if (problem.type.status === 401) {
    // Required in every 401 (RFC 9110, section 11.6.1), also in that of a feature's guard.
    response.setHeader('WWW-Authenticate', challenge());
  }
  response.set(problem.headers).setHeader('Content-Type', `${PROBLEM_MEDIA_TYPE}; charset=utf-8`);
  sendJson(response, problemJson(problem, wholePath(request), request.id, prefix));
}

/** The path of a request. In middleware, Express splits it into `baseUrl` and `path`, which is `/` if nothing follows. */
function wholePath({ baseUrl, path }: Request): string {
  return baseUrl !== '' && path === '/' ? baseUrl : baseUrl + path;
}

/** Sends a problem in the form of Nest's `WsException`, to a client of `ws` or of Socket.IO. */
function sendMessage(json: string, client: { send(text: string): void; emit(event: string, data: unknown): void }): void {
  if ('readyState' in client) {
    client.send(`{"event":"exception","data":${json}}`);
  } else {
    client.emit('exception', JSON.parse(json));
  }
}
