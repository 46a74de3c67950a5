import { applyDecorators } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { tokenPolicyOf } from '../auth/token-policy.decorator.js';
import type { ValueFault } from '../http/problem.js';
import { annotate, annotationOf, nameOf, type Route } from '../routes/route.js';
import { CheckedHeader } from '../validation/checked-header.decorator.js';

/** The header by which a client names a request that it may have to repeat (draft-ietf-httpapi-idempotency-key-header). */
export const IDEMPOTENCY_KEY = 'Idempotency-Key';

const IDEMPOTENT = 'idempotent';

const MAXIMUM_LENGTH = 255;

/**
 * Lets clients repeat a request without its being carried out twice. With the header `Idempotency-Key` all that the handler
 * does with repositories of `Database` becomes one transaction, in which its answer is kept, too, for `IDEMPOTENCY_TTL`;
 * the same request with the same key and token gets that answer: its status and body, but no headers that the handler set.
 * Errors are not kept, as nothing was done then.
 *
 * What a handler does beyond the database, it may do again: after a transaction that failed, or a process that died.
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    annotate(IDEMPOTENT, true),
    CheckedHeader(IDEMPOTENCY_KEY, keyFault),
    ApiHeader({
      name: IDEMPOTENCY_KEY,
      required: false,
      description:
        'Names this request, so that it can be sent again safely when its answer was lost: the same request with the same key gets the same answer for 24 hours, and is carried out once. Use a new random value, such as a UUID, for each new request; there is no example, because it would be used twice. Keys of different tokens have nothing to do with each other.',
      schema: { type: 'string', minLength: 1, maxLength: MAXIMUM_LENGTH, pattern: '^[!-~]+$' },
    }),
  );
}

/** Whether a route is {@link Idempotent}. */
export function isIdempotent(route: Route): boolean {
  return annotationOf(IDEMPOTENT, route) === true;
}

/** What is wrong with a route whose keys would have no owner. */
export function idempotencyFaults(route: Route): string[] {
  return isIdempotent(route) && tokenPolicyOf(route) === 'public'
    ? [`${nameOf(route)} is both @Idempotent() and @Public(): keys belong to tokens, so ask for one with @RequireScopes().`]
    : [];
}

function keyFault([key, ...more]: readonly string[]): ValueFault | undefined {
  if (more.length > 0) {
    return { code: 'repeated', detail: 'is given more than once: keep one' };
  }
  if (key !== undefined && !/^[!-~]{1,255}$/.test(key)) {
    return { code: 'key', detail: `must have 1 to ${MAXIMUM_LENGTH} visible ASCII characters, and no space` };
  }
  return undefined;
}
