import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { defineProblemType } from '../http/problem-type.js';
import { Problem } from '../http/problem.js';
import { type EventCounter, Metrics } from '../observability/metrics.js';
import type { Route } from '../routes/route.js';
import type { Around, Stage } from '../stages/stage.js';
import { IDEMPOTENCY_KEY, isIdempotent } from './idempotent.decorator.js';
import { KeptAnswers, KeyReusedError } from './kept-answers.js';
import { requestDigest } from './request-digest.js';

/** Tells, on a repeated answer, that it is one. */
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

/** What became of a request with a key. */
const OUTCOMES = ['carried-out', 'replayed', 'key-reused', 'failed'] as const;

/** Carries out each `@Idempotent()` request with a key once, and answers its repeats as it was answered. */
@Injectable()
export class IdempotencyStage implements Stage {
  private readonly requests: EventCounter<{ readonly outcome: typeof OUTCOMES }>;

  constructor(
    private readonly answers: KeptAnswers,
    metrics: Metrics,
  ) {
    this.requests = metrics.counter({
      name: 'items_idempotent_requests_total',
      help: 'Requests with an Idempotency-Key, by what became of them',
      labels: { outcome: OUTCOMES },
    });
  }

  around(route: Route): Around | undefined {
    return isIdempotent(route)
      ? (request, response, handle) => {
          const key = request.headers[IDEMPOTENCY_KEY.toLowerCase()];
          return typeof key === 'string' ? this.answer(key, request, response, handle) : handle();
        }
      : undefined;
  }

  private async answer(key: string, request: Request, response: Response, handle: () => Promise<unknown>): Promise<unknown> {
    const { method, originalUrl: url, sentBody: body, user: { familyId: ownerId } = { familyId: '' } } = request;
    try {
      const answer = await this.answers.once({ ownerId, key, digest: requestDigest({ method, url, body }) }, async () => {
        const value = await handle();
        return { status: response.statusCode, body: value === undefined ? null : JSON.stringify(value) };
      });
      this.requests.inc({ outcome: answer.isReplay ? 'replayed' : 'carried-out' });
      response.status(answer.status);
      if (answer.isReplay) {
        response.setHeader(REPLAYED, 'true');
      }
      return answer.body === null ? undefined : (JSON.parse(answer.body) as unknown);
    } catch (error) {
      const isReused = error instanceof KeyReusedError;
      this.requests.inc({ outcome: isReused ? 'key-reused' : 'failed' });
      throw isReused ? idempotencyKeyReusedProblem() : error;
    }
  }
}
