import type { OpenAPIObject } from '@nestjs/swagger';
import { unauthorizedProblem } from '../auth/bearer-auth.guard.js';
import { PUBLIC_EXTENSION } from '../auth/public.decorator.js';
import { databaseUnavailable } from '../database/database-problem.js';
import { invalidRequest } from '../http/invalid-request.js';
import { idempotencyKeyReusedProblem } from '../idempotency/idempotency.interceptor.js';
import { IDEMPOTENCY_KEY } from '../idempotency/idempotent.decorator.js';
import { jsonPointer } from '../http/json-structure.js';
import { PROBLEM_MEDIA_TYPE, problemBody } from '../http/problem-body.js';
import type { Problem } from '../http/problem.js';
import { contentTooLargeProblem } from '../http/read-json-object.js';
import { rateLimitedProblem } from '../throttling/rate-limit.guard.js';
import { unknownProperty } from '../validation/validate-input.js';
import { type Operation, operationsOf, resolveSchema, type Schemas } from './operations.js';
import type { headers } from './platform-components.js';

type Headers = Record<string, { $ref: string }>;

const REQUEST_HEADERS: Headers = { 'X-Request-Id': ref('RequestId') };
const CHALLENGE_HEADERS: Headers = { ...REQUEST_HEADERS, 'WWW-Authenticate': ref('WwwAuthenticate') };
const LIMIT_HEADERS: Headers = { ...REQUEST_HEADERS, RateLimit: ref('RateLimit'), 'RateLimit-Policy': ref('RateLimitPolicy') };
const RETRY_HEADERS: Headers = { ...LIMIT_HEADERS, 'Retry-After': ref('RetryAfter') };

/** Adds to every operation the answers and headers that the platform gives on its behalf. */
export function describePlatformAnswers(document: OpenAPIObject): void {
  for (const { path, operation } of operationsOf(document)) {
    describeOperation(operation, path, document.components?.schemas ?? {});
  }
}

function describeOperation(operation: Operation, path: string, schemas: Schemas): void {
  const { responses } = operation;
  const isPublic = Object.hasOwn(operation, PUBLIC_EXTENSION);
  const common = isPublic ? REQUEST_HEADERS : LIMIT_HEADERS;
  const isIdempotent = operation.parameters?.some((parameter) => 'name' in parameter && parameter.name === IDEMPOTENCY_KEY);
  const onSuccess = isIdempotent ? { ...common, 'Idempotent-Replayed': ref('IdempotentReplayed') } : common;
  for (const success of Object.values(responses)) {
    Object.assign(success ?? {}, { headers: { ...onSuccess, ...(success && 'headers' in success ? success.headers : {}) } });
  }
  const document = (problem: Problem, headers: Headers) => {
    responses[String(problem.type.status)] = {
      description: problem.type.title,
      headers,
      content: {
        [PROBLEM_MEDIA_TYPE]: {
          schema: { $ref: '#/components/schemas/Problem' },
          example: problemBody(problem, path, '4f2b1c9e-7d7a-4d0b-9a53-0c2f6f6f3b1e'),
        },
      },
    };
  };
  const required = requiredProperty(operation, schemas);
  const fault =
    required === undefined
      ? { parameter: 'colour', code: 'unknown', detail: unknownProperty([]).detail }
      : { pointer: jsonPointer([required]), code: 'required', detail: 'is required' };
  document(invalidRequest([fault]), common);
  if (isIdempotent) {
    document(idempotencyKeyReusedProblem(), common);
  }
  if (operation.requestBody) {
    document(contentTooLargeProblem(), common);
  }
  if (isPublic) {
    operation.security = [];
  } else {
    document(unauthorizedProblem('Bearer realm="items"'), CHALLENGE_HEADERS);
    document(rateLimitedProblem(100, 60, 12), RETRY_HEADERS);
  }
  document(databaseUnavailable(), { ...common, 'Retry-After': ref('RetryAfter') });
}

/** A property that the body of an operation cannot do without. */
function requiredProperty({ requestBody }: Operation, schemas: Schemas): string | undefined {
  const content = requestBody && 'content' in requestBody ? Object.values(requestBody.content) : [];
  const schema = content[0]?.schema && resolveSchema(content[0].schema, schemas);
  return schema && 'required' in schema ? schema.required[0] : undefined;
}

function ref(name: keyof typeof headers): { $ref: string } {
  return { $ref: `#/components/headers/${name}` };
}
