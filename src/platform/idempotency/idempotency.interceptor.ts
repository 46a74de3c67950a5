import { hash } from 'node:crypto';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { invalidRequest, Problem } from '../http/problem.js';
import { defineProblemType } from '../http/problem-types.js';
import { StoredResponses } from './stored-responses.js';

/** Identifies a request that the client may repeat (draft-ietf-httpapi-idempotency-key-header). */
export const IDEMPOTENCY_KEY = 'Idempotency-Key';

export const KEY_MAXIMUM_LENGTH = 255;

const idempotencyKeyReused = defineProblemType({
  name: 'idempotency-key-reused',
  status: 422,
  title: 'Idempotency key reused',
  remedy:
    'This `Idempotency-Key` was used for a request with another body or path within the last 24 hours. Nothing was changed. Use a new key for each new request, and reuse a key only to retry the same request.',
});

export function idempotencyKeyReusedProblem(): Problem {
  return new Problem(idempotencyKeyReused, `This ${IDEMPOTENCY_KEY} belongs to another request: use a new key.`);
}

/** Runs each request with a key once, and sends retries the stored response. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly responses: StoredResponses) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const [request, response] = context.getArgs<[Request, Response]>();
    const key = keyOf(request);
    return key === undefined ? next.handle() : from(this.runOnce(key, request, response, next));
  }

  private async runOnce(key: string, request: Request, response: Response, next: CallHandler): Promise<unknown> {
    const identity = { ownerId: request.user?.familyId ?? '', key, digest: digestOf(request) };
    const stored = await this.responses.once(identity, async () => {
      const value: unknown = await lastValueFrom(next.handle(), { defaultValue: undefined });
      return { status: response.statusCode, body: value === undefined ? null : JSON.stringify(value) };
    });
    if (!stored) {
      throw idempotencyKeyReusedProblem();
    }
    response.status(stored.status);
    if (stored.isReplay) {
      response.setHeader('Idempotent-Replayed', 'true');
    }
    return stored.body === null ? undefined : (JSON.parse(stored.body) as unknown);
  }
}

function keyOf(request: Request): string | undefined {
  // Node joins repeated headers with a comma and a space, which are no valid key.
  const key = request.get(IDEMPOTENCY_KEY);
  if (key !== undefined && !(/^[!-~]+$/.test(key) && key.length <= KEY_MAXIMUM_LENGTH)) {
    const detail = `must have 1 to ${KEY_MAXIMUM_LENGTH} visible ASCII characters without spaces`;
    throw invalidRequest([{ parameter: IDEMPOTENCY_KEY, code: 'key', detail }]);
  }
  return key;
}

/** SHA-256 that identifies a request. Property order is ignored, because clients may serialize the same JSON differently. */
function digestOf({ method, originalUrl, body }: Request): Buffer {
  const canonicalJson = JSON.stringify(body, (_name, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
  return hash('sha256', `${method} ${originalUrl}\n${canonicalJson}`, 'buffer');
}
