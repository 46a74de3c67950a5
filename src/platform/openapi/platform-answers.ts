import type { OpenAPIObject } from '@nestjs/swagger';
import { unauthorized } from '../auth/bearer-auth.guard.js';
import { contentTooLarge, invalidBody, invalidParameters, serviceUnavailable } from '../http/http-problem-types.js';
import { PROBLEM_MEDIA_TYPE, problemBody } from '../http/problem-body.js';
import { Problem } from '../http/problem.js';
import { rateLimited } from '../throttling/rate-limit.guard.js';
import { type Operation, operationsOf } from './operations.js';
import type { headers } from './platform-components.js';

type Headers = Record<string, { $ref: string }>;

const REQUEST_HEADERS: Headers = { 'X-Request-Id': ref('RequestId') };
const CHALLENGE_HEADERS: Headers = { ...REQUEST_HEADERS, 'WWW-Authenticate': ref('WwwAuthenticate') };
const LIMIT_HEADERS: Headers = { ...REQUEST_HEADERS, RateLimit: ref('RateLimit'), 'RateLimit-Policy': ref('RateLimitPolicy') };
const RETRY_HEADERS: Headers = { ...LIMIT_HEADERS, 'Retry-After': ref('RetryAfter') };

/** Adds to every operation the answers and headers that the platform gives on its behalf. */
export function describePlatformAnswers(document: OpenAPIObject): void {
  for (const { path, operation } of operationsOf(document)) {
    describeOperation(operation, path);
  }
}

function describeOperation(operation: Operation, path: string): void {
  const { responses } = operation;
  for (const success of Object.values(responses)) {
    Object.assign(success ?? {}, { headers: LIMIT_HEADERS });
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
  if (operation.requestBody) {
    const fault = { pointer: '/name', code: 'required', detail: 'is required' };
    document(new Problem(invalidBody, '/name is required.', { errors: [fault] }), LIMIT_HEADERS);
    document(new Problem(contentTooLarge, 'The body must have at most 65536 bytes.'), LIMIT_HEADERS);
  } else {
    const fault = { parameter: 'limit', code: 'range', detail: 'must be a whole number from 1 to 100, in plain digits' };
    document(new Problem(invalidParameters, `limit ${fault.detail}.`, { errors: [fault] }), LIMIT_HEADERS);
  }
  document(new Problem(unauthorized, 'A valid bearer token is required.'), CHALLENGE_HEADERS);
  document(new Problem(rateLimited, 'More than 100 requests in 60 seconds. Retry in 12 s.'), RETRY_HEADERS);
  document(new Problem(serviceUnavailable, 'The database cannot be reached now.'), RETRY_HEADERS);
}

function ref(name: keyof typeof headers): { $ref: string } {
  return { $ref: `#/components/headers/${name}` };
}
