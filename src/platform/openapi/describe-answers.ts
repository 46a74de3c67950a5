import type { OpenAPIObject } from '@nestjs/swagger';
import { unauthorizedProblem } from '../auth/bearer-auth.guard.js';
import { insufficientScopeProblem } from '../auth/scopes.guard.js';
import { scopesOf, tokenPolicyOf } from '../auth/token-policy.decorator.js';
import { OperatorError } from '../config/operator-error.js';
import { conflict, databaseUnavailable } from '../database/database-problem.js';
import { notFound } from '../http/http-problem-types.js';
import { invalidRequest } from '../http/invalid-request.js';
import { idempotencyKeyReusedProblem } from '../idempotency/idempotency.interceptor.js';
import { isIdempotent } from '../idempotency/idempotent.decorator.js';
import { type ProblemType, problemTypeUri } from '../http/problem-type.js';
import { jsonPointer, Problem, PROBLEM_MEDIA_TYPE, problemBody, type RequestFault, UNKNOWN_NAME } from '../http/problem.js';
import { contentTooLargeProblem } from '../http/read-json.js';
import { type Route, RouteParamtypes, takes } from '../routes/route.js';
import { rateLimitedProblem } from '../throttling/rate-limit.guard.js';
import { BEARER, scopesNote } from './describe-scopes.js';
import { isHidden } from './hidden.decorator.js';
import { operationIdOf, operationOf } from './operation.decorator.js';
import { type Operation, operationsOf, resolveSchema, type Schemas } from './operations.js';
import type { headers } from './platform-components.js';

type Headers = Record<string, { $ref: string }>;

const REQUEST_HEADERS: Headers = { 'X-Request-Id': ref('RequestId') };
const LIMIT_HEADERS: Headers = { ...REQUEST_HEADERS, RateLimit: ref('RateLimit'), 'RateLimit-Policy': ref('RateLimitPolicy') };

/** A problem that an operation can be answered with, and the headers of that answer. */
type ProblemAnswer = readonly [Problem, Headers];

/**
 * Adds to every operation what the platform answers on its behalf, the problems of its own, and whether it will be removed.
 *
 * @throws OperatorError when a handler has become several operations: their ids would not be unique
 */
export function describeAnswers(document: OpenAPIObject, routes: readonly Route[]): void {
  const byId = new Map(routes.filter((route) => !isHidden(route)).map((route) => [operationIdOf(route), route]));
  const seen = new Map<string, number>();
  for (const { path, operation } of operationsOf(document)) {
    const id = operation.operationId ?? '';
    const route = byId.get(id);
    const count = (seen.get(id) ?? 0) + 1;
    seen.set(id, count);
    if (!route || (count > 1 && operationOf(route))) {
      throw new OperatorError(
        `The operation ${id} at ${path} shares its handler: give each path, method and version a handler of its own.`,
      );
    }
    operation.operationId = count > 1 ? `${id}_${count}` : id;
    describeOperation(operation, path, route, document.components?.schemas ?? {});
  }
}

function describeOperation(operation: Operation, path: string, route: Route, schemas: Schemas): void {
  const scopes = scopesOf(route);
  const isPublic = tokenPolicyOf(route) === 'public';
  if (isPublic) {
    operation.security = [];
  } else if (scopes.length > 0) {
    operation.security = [{ [BEARER]: [...scopes] }];
    operation.description = [operation.description ?? [], scopesNote(scopes)].flat().join('\n\n');
  }
  const common = commonHeaders(route);
  const onSuccess = isIdempotent(route) ? { ...common, 'Idempotent-Replayed': ref('IdempotentReplayed') } : common;
  for (const success of Object.values(operation.responses)) {
    Object.assign(success ?? {}, { headers: { ...onSuccess, ...(success && 'headers' in success ? success.headers : {}) } });
  }
  const answers = [...platformAnswers(route, [exampleFault(operation, schemas)]), ...ownAnswers(route)];
  if (path.includes('{')) {
    answers.push([new Problem(notFound, 'There is nothing with this path.'), common]);
  }
  const byType = new Map(answers.map((answer) => [answer[0].type, answer]));
  for (const [status, alike] of Map.groupBy(byType.values(), ([{ type }]) => type.status)) {
    operation.responses[String(status)] = describe(alike, path);
  }
}

/** The answers of one status: with several types of problem, one example for each. */
function describe(answers: readonly ProblemAnswer[], path: string): Operation['responses'][string] {
  // A path that could be called: braces are no part of a URI.
  const instance = path.replaceAll(/[{}]/g, '');
  const examples = answers.map(([problem]) => problemBody(problem, instance, '4f2b1c9e-7d7a-4d0b-9a53-0c2f6f6f3b1e'));
  const named = answers.map(([{ type }], index) => [type.name, { summary: type.title, value: examples[index] }]);
  return {
    description: answers.map(([{ type }]) => problemLink(type)).join(', or: '),
    headers: Object.assign({}, ...answers.map(([, headers]) => headers)) as Headers,
    content: {
      [PROBLEM_MEDIA_TYPE]: {
        schema: { $ref: '#/components/schemas/Problem' },
        ...(answers.length > 1 ? { examples: Object.fromEntries(named) as Record<string, object> } : { example: examples[0] }),
      },
    },
  };
}

/** Markdown. Relative, as the pages are, which may lie below a path of a proxy. */
function problemLink(type: ProblemType): string {
  return `[${type.title}](${problemTypeUri(type).slice(1)})`;
}

function platformAnswers(route: Route, faults: readonly RequestFault[]): ProblemAnswer[] {
  const common = commonHeaders(route);
  const retry = { ...common, 'Retry-After': ref('RetryAfter') };
  const challenge = { 'WWW-Authenticate': ref('WwwAuthenticate') };
  const answers: ProblemAnswer[] = [[invalidRequest(faults), common]];
  if (isIdempotent(route)) {
    answers.push([idempotencyKeyReusedProblem(), common]);
  }
  if (takes(RouteParamtypes.BODY, route)) {
    answers.push([contentTooLargeProblem(), common]);
  }
  if (tokenPolicyOf(route) !== 'public') {
    answers.push([unauthorizedProblem(), { ...REQUEST_HEADERS, ...challenge }]);
    answers.push([rateLimitedProblem(100, 60, 12), retry]);
  }
  if (scopesOf(route).length > 0) {
    answers.push([insufficientScopeProblem(scopesOf(route)), { ...common, ...challenge }]);
  }
  return [...answers, [databaseUnavailable(), retry]];
}

function ownAnswers(route: Route): ProblemAnswer[] {
  // A route without `@Operation` cannot declare what the database may refuse.
  const { problems = [] } = operationOf(route) ?? { problems: takes(RouteParamtypes.BODY, route) ? [conflict] : [] };
  return problems.map((type) => [new Problem(type, `${type.title}.`), commonHeaders(route)]);
}

/** Those of answers that got past the rate limit, where there is one. */
function commonHeaders(route: Route): Headers {
  return tokenPolicyOf(route) === 'public' ? REQUEST_HEADERS : LIMIT_HEADERS;
}

function exampleFault(operation: Operation, schemas: Schemas): RequestFault {
  const required = requiredProperty(operation, schemas);
  return required === undefined
    ? { parameter: 'colour', code: 'unknown', detail: UNKNOWN_NAME }
    : { pointer: jsonPointer([required]), code: 'required', detail: 'is required' };
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
