import type { OpenAPIObject } from '@nestjs/swagger';

type Components = NonNullable<OpenAPIObject['components']>;

/** Schemas of what the platform itself answers. */
export const schemas: NonNullable<Components['schemas']> = {
  Problem: {
    type: 'object',
    description: 'Problem details (RFC 9457).',
    required: ['type', 'title', 'status', 'detail', 'instance', 'requestId'],
    properties: {
      type: {
        type: 'string',
        format: 'uri-reference',
        description: 'Identifies the kind of problem and leads to its explanation.',
      },
      title: { type: 'string', description: 'Short summary of the kind.' },
      status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status code.' },
      detail: { type: 'string', description: 'What is wrong this time and how to fix it.' },
      instance: { type: 'string', format: 'uri-reference', description: 'Path of the request.' },
      requestId: {
        type: 'string',
        description:
          'Names this request in the log of the service, and in its trace if the service makes traces; also in `X-Request-Id`.',
      },
      errors: { type: 'array', items: { $ref: '#/components/schemas/RequestFault' }, description: 'Every fault of the request.' },
    },
  },
  RequestFault: {
    type: 'object',
    description: 'One fault of a request.',
    required: ['code', 'detail'],
    properties: {
      pointer: { type: 'string', description: 'JSON Pointer (RFC 6901) into the request body.' },
      parameter: { type: 'string', description: 'Name of the query, path or header parameter; empty for the query as a whole.' },
      code: { type: 'string', description: 'The rule that is broken.' },
      detail: { type: 'string', description: 'How to fix it.' },
      start: {
        type: 'integer',
        minimum: 0,
        description: 'Where in the value of a filter, in characters (Unicode code points) from its start.',
      },
      end: { type: 'integer', minimum: 0, description: 'Where that ends, exclusive.' },
    },
  },
};

/** Headers of the platform's answers. */
export const headers = {
  RequestId: {
    description:
      'Names this request in the log, and in its trace if the service makes traces; the `X-Request-Id` that was sent, when it is sane.',
    schema: { type: 'string' },
  },
  RateLimitPolicy: {
    description: 'Quota `q` in a window of `w` seconds (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string' },
    example: '"default";q=100;w=60',
  },
  RateLimit: {
    description: 'Requests left, `r`, and seconds until the next one comes free, `t`.',
    schema: { type: 'string' },
    example: '"default";r=99;t=60',
  },
  IdempotentReplayed: {
    description: '`true` on an answer that was given before, to the same request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
  RetryAfter: {
    description: 'Whole seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 1 },
    example: 12,
  },
  WwwAuthenticate: {
    description: 'The challenge (RFC 6750, section 3); with `error="invalid_token"` when a token was presented.',
    schema: { type: 'string' },
    example: 'Bearer realm="items", error="invalid_token"',
  },
} satisfies Components['headers'];
