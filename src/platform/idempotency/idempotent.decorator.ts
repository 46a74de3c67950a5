import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { tokenPolicyOf } from '../auth/token-policy.decorator.js';
import { metadataOf, nameOf, type Route } from '../routes/route.js';
import { IDEMPOTENCY_KEY, IdempotencyInterceptor, KEY_MAXIMUM_LENGTH } from './idempotency.interceptor.js';

const IDEMPOTENT = 'idempotent';

/**
 * Carries out a request with an `Idempotency-Key` once: all that the handler does with injected repositories becomes one transaction,
 * in which the status and body of its response are kept for `IDEMPOTENCY_TTL`. It begins with the first statement: what a handler
 * does before that, and beyond the database, it may do again. Errors are not kept, as nothing was done then.
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    SetMetadata(IDEMPOTENT, true),
    UseInterceptors(IdempotencyInterceptor),
    ApiHeader({
      name: IDEMPOTENCY_KEY,
      required: false,
      description:
        'Names this request, so that it can be sent again safely when its answer was lost: the same request with the same key gets the same answer for 24 hours, and is carried out once. Use a new random value, such as a UUID, for each new request; there is no example, because it would be used twice. Keys of different tokens have nothing to do with each other.',
      schema: { type: 'string', minLength: 1, maxLength: KEY_MAXIMUM_LENGTH, pattern: '^[!-~]+$' },
    }),
  );
}

/** Whether a route is {@link Idempotent}. */
export function isIdempotent(route: Route): boolean {
  return metadataOf(IDEMPOTENT, route) === true;
}

/** What is wrong with a route whose keys would have no owner. */
export function idempotencyFaults(route: Route): string[] {
  return isIdempotent(route) && tokenPolicyOf(route) === 'public'
    ? [`${nameOf(route)} is both @Idempotent() and @Public(): keys belong to tokens, so ask for one with @RequireScopes().`]
    : [];
}
