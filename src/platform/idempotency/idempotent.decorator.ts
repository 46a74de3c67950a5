import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { tokenPolicyOf } from '../auth/token-policy.decorator.js';
import { metadataOf, nameOf, type Route } from '../routes/route.js';
import { IDEMPOTENCY_KEY, IdempotencyInterceptor, KEY_MAXIMUM_LENGTH } from './idempotency.interceptor.js';

const IDEMPOTENT = 'idempotent';

/**
 * Lets clients repeat a request without its being carried out twice. With the header `Idempotency-Key` all that the handler
 * does with injected repositories becomes one transaction, in which its response is kept, too, for `IDEMPOTENCY_TTL`;
 * the same request with the same key and token gets that response: its status and body, but no headers that the handler set.
 * Errors are not kept, as nothing was done then.
 *
 * The transaction begins, and the key is looked up, with the first statement: what a handler does before that, and beyond the
 * database, it may do again.
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
