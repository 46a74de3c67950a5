import { hash } from 'node:crypto';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { invalidRequest } from '../http/invalid-request.js';
import { defineProblemType } from '../http/problem-type.js';
import { Problem } from '../http/problem.js';
import { KeptAnswers } from './kept-answers.js';

/** The header by which a client names a request that it may have to repeat (draft-ietf-httpapi-idempotency-key-header). */
export const IDEMPOTENCY_KEY = 'Idempotency-Key';

export const KEY_MAXIMUM_LENGTH = 255;

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
    const key = keyOf(request);
    return key === undefined ? next.handle() : from(this.carryOut(key, request, response, next));
  }

  private async carryOut(key: string, request: Request, response: Response, next: CallHandler): Promise<unknown> {
    const identity = { ownerId: request.user?.familyId ?? '', key, digest: digestOf(request) };
    const answer = await this.answers.once(identity, async () => {
      const value: unknown = await lastValueFrom(next.handle(), { defaultValue: undefined });
      return { status: response.statusCode, body: value === undefined ? null : JSON.stringify(value) };
    });
    if (!answer) {
      throw idempotencyKeyReusedProblem();
    }
    response.status(answer.status);
    if (answer.isReplay) {
      response.setHeader('Idempotent-Replayed', 'true');
    }
    return answer.body === null ? undefined : (JSON.parse(answer.body) as unknown);
  }
}

function keyOf(request: Request): string | undefined {
  // Node joins the values of a header that is given twice with a comma and a space.
  const key = request.get(IDEMPOTENCY_KEY);
  if (key !== undefined && !(/^[!-~]+$/.test(key) && key.length <= KEY_MAXIMUM_LENGTH)) {
    const detail = `must have 1 to ${KEY_MAXIMUM_LENGTH} visible ASCII characters, and no space`;
    throw invalidRequest([{ parameter: IDEMPOTENCY_KEY, code: 'key', detail }]);
  }
  return key;
}

/** SHA-256 over what makes a request another one: a client may write the same JSON with its properties in another order. */
function digestOf({ method, originalUrl, body }: Request): Buffer {
  const canonicalJson = JSON.stringify(body, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
  return hash('sha256', `${method} ${originalUrl}\n${canonicalJson}`, 'buffer');
}
