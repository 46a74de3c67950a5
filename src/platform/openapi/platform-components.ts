import type { OpenAPIObject } from '@nestjs/swagger';
import { challenge } from '../auth/scopes.guard.js';

type Components = NonNullable<OpenAPIObject['components']>;

const text = (description: string, form: object = {}) => ({ type: 'string' as const, ...form, description });
const position = (description: string) => ({ type: 'integer' as const, minimum: 0, description });
const header = (description: string, example?: string) => ({
  description,
  schema: { type: 'string' as const },
  ...(example !== undefined && { example }),
});

/** Schemas of the platform's responses. @param codes - listed as examples, not as an enum: a new code breaks no client */
export const platformSchemas = (codes: readonly string[]): NonNullable<Components['schemas']> => ({
  Problem: {
    type: 'object',
    description: 'Problem details (RFC 9457).',
    required: ['type', 'title', 'status', 'detail', 'instance', 'requestId'],
    properties: {
      type: text('Identifies the kind of problem: the path of its explanation.', { format: 'uri-reference' }),
      title: text('Summary of the kind.'),
      status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status code.' },
      detail: text('What is wrong in this request, and how to fix it.'),
      instance: text('Path of the request.', { format: 'uri-reference' }),
      requestId: text('Identifies the request in the log and trace of the service; also in `X-Request-Id`.'),
      errors: {
        type: 'array',
        items: { $ref: '#/components/schemas/FieldError' },
        description: 'The errors that were found, at most 100.',
      },
    },
  },
  FieldError: {
    type: 'object',
    description: 'One error of a request.',
    required: ['code', 'detail'],
    properties: {
      pointer: text(
        'JSON Pointer (RFC 6901) into the request body, cut after 128 characters (`…`); empty for the whole body.',
      ),
      parameter: text('Name of the query, path or header parameter; empty for the whole query.'),
      code: text('The kind of error: `/docs/problems#codes` lists all.', { examples: [...codes] }),
      detail: text('How to fix it.'),
      start: position('Start of the error in a filter, in characters (Unicode code points).'),
      end: position('Its end, exclusive.'),
    },
  },
});

export const headers = {
  RequestId: header(
    'Identifies the request in the log and trace of the service: the `X-Request-Id` of the request if that is valid, ' +
      'otherwise a new one.',
  ),
  RateLimitPolicy: header(
    'The limit of the token: `q` requests in `w` seconds (draft-ietf-httpapi-ratelimit-headers-10, whose syntax stays ' +
      'within /v1).',
    '"default";q=100;w=60',
  ),
  RateLimit: header('Requests left (`r`), and seconds until there is one more (`t`).', '"default";r=99;t=60'),
  IdempotentReplayed: {
    description: '`true` if this is the stored response to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
  RetryAfter: {
    description: 'Seconds to wait before a retry.',
    schema: { type: 'integer', minimum: 1 },
    example: 12,
  },
  WwwAuthenticate: header(
    'The challenge (RFC 6750, section 3), with `error="invalid_token"` or `error="insufficient_scope"` if a token was sent.',
    challenge({ error: 'invalid_token' }),
  ),
} satisfies Components['headers'];

/** `X-Request-Id` is `RequestId`. */
const componentOf = (name: string) => name.replaceAll(/^X-|-/g, '').replace('WWW', 'Www');

export function headerReferences(names: readonly string[]): Record<string, { $ref: string }> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${componentOf(name)}` }]));
}
