import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { tokenPolicyOf } from '../auth/scopes.guard.js';
import { metadataOf, nameOf, type Route } from '../routes/route.js';
import { IDEMPOTENCY_KEY, IdempotencyInterceptor, KEY_MAXIMUM_LENGTH } from './idempotency.interceptor.js';

const IDEMPOTENT = 'idempotent';

/**
 * Runs a request with an `Idempotency-Key` once. All statements of injected repositories become one transaction, which also stores
 * the status and body of the response for `IDEMPOTENCY_TTL`. Code before the first statement, and effects outside the database, may
 * run again on a retry. Errors are not stored, because nothing was written.
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    SetMetadata(IDEMPOTENT, true),
    UseInterceptors(IdempotencyInterceptor),
    ApiHeader({
      name: IDEMPOTENCY_KEY,
      required: false,
      description:
        'Makes retries safe: for 24 hours, the same request with the same key is carried out once and gets the same response. Use a new random value, such as a UUID, for each new request. Keys are separate for each token.',
      schema: { type: 'string', minLength: 1, maxLength: KEY_MAXIMUM_LENGTH, pattern: '^[!-~]+$' },
    }),
  );
}

export function isIdempotent(route: Route): boolean {
  return metadataOf(IDEMPOTENT, route) === true;
}

/** Rejects public routes, whose keys would have no owner. */
export function idempotencyFaults(route: Route): string[] {
  return isIdempotent(route) && tokenPolicyOf(route) === 'public'
    ? [`${nameOf(route)} is both @Idempotent() and @Public(): keys belong to tokens, so require one with @RequireScopes().`]
    : [];
}
