import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { invalidRequest } from '../http/invalid-request.js';
import { defineProblemType } from '../http/problem-type.js';
import { Problem, type ValueFault } from '../http/problem.js';
import { KeptAnswers, KeyReusedError } from './kept-answers.js';
import { requestDigest } from './request-digest.js';

/** The header by which a client names a request that it may have to repeat (draft-ietf-httpapi-idempotency-key-header). */
export const IDEMPOTENCY_KEY = 'Idempotency-Key';

/** Longest key, in characters. */
export const KEY_MAXIMUM_LENGTH = 255;

/** On a repeated response: it was given before. */
const REPLAYED = 'Idempotent-Replayed';

/** The key belongs to another request. */
const idempotencyKeyReused = defineProblemType({
  name: 'idempotency-key-reused',
  status: 422,
  title: 'Idempotency key reused',
  remedy:
    'Another request, with another body or path, was made with this `Idempotency-Key` within the last 24 hours. Nothing was done now. Use a new key for each new request, and the same one only to send the same request again.',
});

/** The problem of a key that belongs to another request. */
export function idempotencyKeyReusedProblem(): Problem {
  return new Problem(idempotencyKeyReused, `This ${IDEMPOTENCY_KEY} belongs to another request: use a new one.`);
}

/** Carries out each request with a key once, and responds to its repeats as it did then. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly answers: KeptAnswers) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const [request, response] = context.getArgs<[Request, Response]>();
    const keys = request.headersDistinct[IDEMPOTENCY_KEY.toLowerCase()] ?? [];
    const fault = keyFault(keys);
    if (fault) {
      throw invalidRequest([{ parameter: IDEMPOTENCY_KEY, ...fault }]);
    }
    const [key] = keys;
    return key === undefined ? next.handle() : from(this.carryOut(key, request, response, next));
  }

  private async carryOut(key: string, request: Request, response: Response, next: CallHandler): Promise<unknown> {
    const { method, originalUrl: url, user } = request;
    const body: unknown = request.body;
    const ownerId = user?.familyId ?? '';
    try {
      const digest = requestDigest({ method, url, body });
      const answer = await this.answers.once({ ownerId, key, digest }, async () => {
        const value: unknown = await lastValueFrom(next.handle(), { defaultValue: undefined });
        return { status: response.statusCode, body: value === undefined ? null : JSON.stringify(value) };
      });
      response.status(answer.status);
      if (answer.isReplay) {
        response.setHeader(REPLAYED, 'true');
      }
      return answer.body === null ? undefined : (JSON.parse(answer.body) as unknown);
    } catch (error) {
      throw error instanceof KeyReusedError ? idempotencyKeyReusedProblem() : error;
    }
  }
}

function keyFault([key, ...more]: readonly string[]): ValueFault | undefined {
  if (more.length > 0) {
    return { code: 'repeated', detail: 'is given more than once: keep one' };
  }
  if (key !== undefined && !(/^[!-~]+$/.test(key) && key.length <= KEY_MAXIMUM_LENGTH)) {
    return { code: 'key', detail: `must have 1 to ${KEY_MAXIMUM_LENGTH} visible ASCII characters, and no space` };
  }
  return undefined;
}
