import { randomUUID } from 'node:crypto';
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, HttpStatus } from '@nestjs/common';
import type { Request, Response } from 'express';

interface Kind {
  readonly name: string;
  readonly title: string;
  readonly detail?: string;
}

const failed: Kind = { name: 'internal-error', title: 'Internal error', detail: 'The service failed.' };

const kinds: Readonly<Record<number, Kind>> = {
  [HttpStatus.BAD_REQUEST]: { name: 'bad-request', title: 'Bad request' },
  [HttpStatus.UNAUTHORIZED]: {
    name: 'unauthorized',
    title: 'Missing or invalid token',
    detail: 'A valid bearer token is required.',
  },
  [HttpStatus.NOT_FOUND]: { name: 'not-found', title: 'Not found' },
  [HttpStatus.TOO_MANY_REQUESTS]: { name: 'rate-limited', title: 'Rate limited' },
};

/** Answers errors as problems (RFC 9457). */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    const response = host.switchToHttp().getResponse<Response>();
    const message = error instanceof HttpException ? error.message : failed.detail;
    const status = error instanceof HttpException ? error.getStatus() : 500;
    const { name, title, detail = message } = kinds[status] ?? failed;
    if (status === 401) {
      const fault = request.headers.authorization === undefined ? '' : ', error="invalid_token"';
      response.setHeader('WWW-Authenticate', `Bearer realm="items"${fault}`);
    }
    const type = `/docs/problems#${name}`;
    response
      .status(status)
      .type('application/problem+json')
      .send(JSON.stringify({ type, title, status, detail, instance: request.path, requestId: randomUUID() }));
  }
}
