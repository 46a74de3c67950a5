import { hash } from 'node:crypto';
import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  StreamableFile,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { ApiHeader } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { tokenPolicyOf } from '../auth/scopes.guard.js';
import { invalidRequest } from '../problems/problem.js';
import { bodyOptionsOf } from '../bodies/use-body-parser.decorator.js';
import { EtagInterceptor } from '../preconditions/etag.interceptor.js';
import { SetHandlerMetadata } from '../routes/handler-metadata.js';
import { faultsOfRoute, metadataOf, type Route } from '../routes/route.js';
import { useOutermost } from '../routes/outermost.js';
import { StoredResponses } from './stored-responses.js';

const IDEMPOTENT = 'idempotent';

/** Identifies a request that the client may repeat (draft-ietf-httpapi-idempotency-key-header). */
const IDEMPOTENCY_KEY = 'Idempotency-Key';

/** Runs each request with a key once, and responds to retries with the stored response. */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  /** Looks up its service later: unit tests of controllers, which do not call it, need not provide it. */
  constructor(private readonly modules: ModuleRef) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const [request, response] = context.getArgs<[Request, Response]>();
    const key = keyOf(request);
    return key === undefined ? next.handle() : from(this.runOnce(key, request, response, next));
  }

  private async runOnce(key: string, request: Request, response: Response, next: CallHandler): Promise<unknown> {
    const identity = { ownerId: request.user?.familyId ?? '', key, digest: requestDigest(request) };
    const responses = this.modules.get(StoredResponses, { strict: false });
    const { status, body, isReplay } = await responses.once(identity, async () => {
      const value: unknown = await lastValueFrom(next.handle(), { defaultValue: undefined });
      if (value instanceof StreamableFile || ArrayBuffer.isView(value)) {
        throw new Error('A file cannot be stored with an Idempotency-Key: respond with JSON, or remove @Idempotent().');
      }
      return { status: response.statusCode, body: value === undefined ? null : JSON.stringify(value) };
    });
    response.status(status);
    if (isReplay) {
      response.setHeader('Idempotent-Replayed', 'true');
    }
    return body === null ? undefined : (JSON.parse(body) as unknown);
  }
}

function keyOf(request: Request): string | undefined {
  // Node joins repeated headers with a comma and a space, which are no valid key.
  const key = request.get(IDEMPOTENCY_KEY);
  if (key !== undefined && !/^[!-~]{1,255}$/.test(key)) {
    const detail = 'must be given once, with 1 to 255 visible ASCII characters without spaces';
    throw invalidRequest([{ parameter: IDEMPOTENCY_KEY, code: 'key', detail }]);
  }
  if (key !== undefined && request.is('multipart')) {
    throw invalidRequest([{ parameter: IDEMPOTENCY_KEY, code: 'key', detail: 'does not cover files: leave it out' }]);
  }
  return key;
}

/** SHA-256 that identifies a request. Property order is ignored, because clients may serialize the same JSON differently. */
function requestDigest({ method, originalUrl, body }: Request): Buffer {
  const canonical = Buffer.isBuffer(body) ? body.toString('latin1') : JSON.stringify(body, sortProperties);
  return hash('sha256', `${method} ${originalUrl}\n${canonical}`, 'buffer');
}

function sortProperties(_name: string, part: unknown): unknown {
  return typeof part === 'object' && part !== null && !Array.isArray(part)
    ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : part;
}

/**
 * Runs a request with an `Idempotency-Key` once. All statements of injected repositories become one transaction, which also
 * stores the status and body of the response for `IDEMPOTENCY_TTL`. Code before the first statement, and effects outside the
 * database, may run again on a retry. Errors are not stored, because nothing was written.
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    SetHandlerMetadata(IDEMPOTENT, true, '@Idempotent()'),
    // Outside of other interceptors, to store their results; inside of `EtagInterceptor`, which also tags stored responses.
    useOutermost(IdempotencyInterceptor, EtagInterceptor),
    ApiHeader({
      name: IDEMPOTENCY_KEY,
      required: false,
      description:
        'Makes retries safe: the same request with the same key is carried out once and gets the same response, for ' +
        '24 hours unless the operator has set another time. An error is not stored: the next request with its key is ' +
        'carried out. Use a new random value, such as a UUID, for each new request. Keys are separate for each ' +
        'token, or `sub` of JWTs; a token that replaces another one by rotation shares its keys.',
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
    }),
  );
}

/** States that a retry of a POST changes nothing, as of a search or login: the start asks for no `@Idempotent()`. */
export function SafeToRetry(): MethodDecorator {
  return SetHandlerMetadata(IDEMPOTENT, 'by nature', '@SafeToRetry()');
}

export function isIdempotent(route: Route): boolean {
  return metadataOf(IDEMPOTENT, route) === true;
}

export function isSafeToRetry(route: Route): boolean {
  return metadataOf(IDEMPOTENT, route) !== undefined;
}

/** Rejects public routes, whose keys would have no owner, and files, which an interceptor reads after the key is taken. */
export function idempotencyFaults(route: Route): string[] {
  if (!isIdempotent(route)) return [];
  const isPublic = tokenPolicyOf(route) === 'public';
  const takesFiles = bodyOptionsOf(route)?.parser === 'multipart';
  return faultsOfRoute(route, [
    isPublic && 'is both @Idempotent() and @Public(): keys belong to tokens, so require one with @RequireScopes().',
    takesFiles && 'is @Idempotent() and takes files, which its keys do not cover: remove @Idempotent().',
  ]);
}
