import { randomUUID } from 'node:crypto';

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** An answer that is no success. */
export interface Problem {
  readonly name: string;
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly errors?: readonly object[];
}

/** @param isPresented - whether there was a token that is not valid */
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
    detail: `The token has used up its requests: at most ${limit} in ${window} seconds. Retry in ${retryAfter} s.`,
    headers: { 'Retry-After': String(retryAfter) },
  };
}

export function invalidParameter(parameter: string, code: string, detail: string): Problem {
  const errors = [{ parameter, code, detail }];
  return { name: 'invalid-parameters', status: 400, title: 'Invalid parameters', detail: `${parameter} ${detail}.`, errors };
}

/** @param pointer - JSON Pointer, empty for the whole body */
export function invalidBody(pointer: string, code: string, detail: string): Problem {
  const errors = [{ pointer, code, detail }];
  return { name: 'invalid-body', status: 400, title: 'Invalid body', detail: `${pointer || 'The body'} ${detail}.`, errors };
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
