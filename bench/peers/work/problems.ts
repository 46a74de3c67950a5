import { randomUUID } from 'node:crypto';

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** A response that is no success. */
export interface Problem {
  readonly name: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly errors?: readonly object[];
}

/** @param isPresented - whether the request has a token, which is not valid */
export function unauthorized(isPresented: boolean): Problem {
  return {
    name: 'unauthorized',
    status: 401,
    title: 'Missing or invalid token',
    detail: 'A valid bearer token is required.',
    headers: { 'WWW-Authenticate': `Bearer realm="items"${isPresented ? ', error="invalid_token"' : ''}` },
  };
}

export function rateLimited(limit: number, window: number, retryAfter: number): Problem {
  return {
    name: 'rate-limited',
    status: 429,
    title: 'Rate limited',
    detail: `The token has reached its limit of ${limit} requests in ${window} seconds. Retry in ${retryAfter} s.`,
    headers: { 'Retry-After': String(retryAfter) },
  };
}

export function invalidParameter(parameter: string, code: string, detail: string): Problem {
  return invalid('parameters', `${parameter} ${detail}.`, { parameter, code, detail });
}

/** @param pointer - JSON Pointer, empty for the whole body */
export function invalidBody(pointer: string, code: string, detail: string): Problem {
  return invalid('body', `${pointer || 'The body'} ${detail}.`, { pointer, code, detail });
}

function invalid(part: string, detail: string, error: object): Problem {
  return { name: `invalid-${part}`, status: 400, title: `Invalid ${part}`, detail, errors: [error] };
}

export const notFound: Problem = { name: 'not-found', status: 404, title: 'Not found', detail: 'Nothing is there.' };

export const failed: Problem = {
  name: 'internal-error',
  status: 500,
  title: 'Internal error',
  detail: 'The service failed.',
};

/** @param instance - path of the request */
export function problemJson({ name, title, status, detail, errors }: Problem, instance: string): string {
  const type = `/docs/problems#${name}`;
  return JSON.stringify({ type, title, status, detail, instance, requestId: randomUUID(), errors });
}
