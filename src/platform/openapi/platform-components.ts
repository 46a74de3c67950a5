import type { OpenAPIObject } from '@nestjs/swagger';

type Components = NonNullable<OpenAPIObject['components']>;

const text = (description: string, form: object = {}) => ({ type: 'string' as const, ...form, description });
const position = (description: string) => ({ type: 'integer' as const, minimum: 0, description });
const header = (description: string, example?: string) => ({
  description,
  schema: { type: 'string' as const },
  ...(example !== undefined && { example }),
});

/** Schemas of the platform's own responses. */
export const schemas: NonNullable<Components['schemas']> = {
  Problem: {
    type: 'object',
    description: 'Problem details (RFC 9457).',
    required: ['type', 'title', 'status', 'detail', 'instance', 'requestId'],
    properties: {
      type: text('Identifies the kind of problem and leads to its explanation.', { format: 'uri-reference' }),
      title: text('Short summary of the kind.'),
      status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status code.' },
      detail: text('What is wrong this time and how to fix it.'),
      instance: text('Path of the request.', { format: 'uri-reference' }),
      requestId: text(
        'Names this request in the log of the service, and in its trace if the service makes traces; also in `X-Request-Id`.',
      ),
      errors: { type: 'array', items: { $ref: '#/components/schemas/RequestFault' }, description: 'Every fault of the request.' },
    },
  },
  RequestFault: {
    type: 'object',
    description: 'One fault of a request.',
    required: ['code', 'detail'],
    properties: {
      pointer: text('JSON Pointer (RFC 6901) into the request body.'),
      parameter: text('Name of the query, path or header parameter; empty for the query as a whole.'),
      code: text('The rule that is broken.'),
      detail: text('How to fix it.'),
      start: position('Where in the value of a filter, in characters (Unicode code points) from its start.'),
      end: position('Where that ends, exclusive.'),
    },
  },
};

/** Headers of the platform's responses. */
export const headers = {
  RequestId: header(
    'Names this request in the log, and in its trace if the service makes traces; the `X-Request-Id` that was sent, when it is sane.',
  ),
  RateLimitPolicy: header('Quota `q` in a window of `w` seconds (draft-ietf-httpapi-ratelimit-headers).', '"default";q=100;w=60'),
  RateLimit: header('Requests left, `r`, and seconds until the next one comes free, `t`.', '"default";r=99;t=60'),
  IdempotentReplayed: {
    description: '`true` on an answer that was given before, to the same request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
  RetryAfter: {
    description: 'Whole seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 1 },
    example: 12,
  },
  WwwAuthenticate: header(
    'The challenge (RFC 6750, section 3); with `error="invalid_token"` when a token was presented.',
    'Bearer realm="items", error="invalid_token"',
  ),
} satisfies Components['headers'];
