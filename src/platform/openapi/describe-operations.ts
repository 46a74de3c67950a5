import { DECORATORS, type OpenAPIObject } from '@nestjs/swagger';
import { unauthorizedProblem } from '../auth/bearer-auth.guard.js';
import { TOKEN_PREFIX } from '../auth/token-format.js';
import { insufficientScopeProblem, scopesOf, tokenPolicyOf } from '../auth/scopes.guard.js';
import { pathPrefixOf } from '../config/origins.js';
import { OperatorError } from '../errors/operator-error.js';
import { conflict, databaseUnavailable } from '../database/database-problem.js';
import {
  headerFieldsTooLarge,
  notFound,
  type ProblemType,
  problemTypeUri,
  requestTimeout,
} from '../problems/problem-types.js';
import { Problem, PROBLEM_MEDIA_TYPE } from '../problems/problem.js';
import { contentTooLargeProblem } from '../bodies/read-body.js';
import { type BodyOptions, bodyOptionsOf } from '../bodies/use-body-parser.decorator.js';
import { idempotencyKeyReusedProblem } from '../idempotency/stored-responses.js';
import { isIdempotent } from '../idempotency/idempotent.decorator.js';
import { type Route, RouteParamtypes, hasParameter } from '../routes/route.js';
import { rateLimitedProblem } from '../throttling/rate-limit.guard.js';
import { describeDeprecation } from './deprecation.js';
import { describeConditions } from './describe-conditions.js';
import { type Call, mediaTypesOf, type DocumentedOperation, operationsOf, type Schemas } from './openapi-document.js';
import { operationIdOf, operationOf } from '../routes/operation.js';
import { headerReferences } from './platform-components.js';
import { exampleProblem, exampleRefusals, examplesOf } from './problem-examples.js';

/** Name of the security scheme of all operations that are not public. */
export const BEARER = 'token';

const CREDENTIAL =
  `An access token of this service, \`${TOKEN_PREFIX}…\`: the operator issues one with \`token issue\`, and the first ` +
  'start on the embedded database prints one. Or a JWT, if the operator has configured an identity provider.';

/** Headers of every response, and of those after the rate limit check. */
const COMMON_HEADERS = ['X-Request-Id'] as const;
const LIMIT_HEADERS = [...COMMON_HEADERS, 'RateLimit', 'RateLimit-Policy'] as const;
/** Types of problems without rate limit headers, because they are sent before the rate limit check or without Express. */
const WITHOUT_LIMIT: ReadonlySet<ProblemType> = new Set([unauthorizedProblem().type, headerFieldsTooLarge]);

/**
 * Adds the platform's responses, the operation's own problems, and the required scopes to every operation. Numbers the
 * operation ids of a handler with several paths or versions.
 *
 * @returns the first operation of each handler
 * @throws OperatorError if handlers share an operation id, which is by default their name, or one handles all methods
 */
export function describeOperations(document: OpenAPIObject, routes: readonly Route[]): Map<Route['handler'], Call> {
  // A controller that is left out can inherit a handler of one that is not.
  const shown = routes.filter(({ controller }) => !Reflect.hasMetadata(DECORATORS.API_EXCLUDE_CONTROLLER, controller));
  const byId = Map.groupBy(shown, operationIdOf);
  const counts = new Map<string, number>();
  const described = new Map<Route['handler'], Call>();
  const calls: { scope: string; call: string }[] = [];
  const prefix = pathPrefixOf(document.servers?.[0]?.url);
  for (const found of operationsOf(document)) {
    const { call, path, operation } = found;
    const { operationId: id = '' } = operation;
    const [route, ...others] = byId.get(id)?.toReversed() ?? [];
    const count = (counts.get(id) ?? 0) + 1;
    if (!route || (count > 1 && others.length > 0)) {
      const remedy =
        'give each method a handler with its own name or `operationId`, rename a class of the same name, or exclude it';
      throw new OperatorError(
        `${call} cannot have the operation id ${id}: ${remedy} with @ApiExcludeEndpoint() of @nestjs/swagger.`,
      );
    }
    counts.set(id, count);
    if (count === 1) {
      described.set(route.handler, found);
    } else {
      operation.operationId = `${id}_${count}`;
    }
    calls.push(...scopesOf(route).map((scope) => ({ scope, call: `\`${call}\`` })));
    const body = bodyOptionsOf(route);
    describeSecurity(operation, route, document.components?.securitySchemes ?? {});
    describeBody(operation, body);
    const problems = problemsOf(operation, path, route, body, document.components?.schemas ?? {});
    describeResponses(operation, path, prefix, route, [...problems, ...describeConditions(operation, route)]);
    describeDeprecation(operation, route, prefix);
  }
  const byScope = [...Map.groupBy(calls, ({ scope }) => scope)].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lines = byScope.map(([scope, needing]) => `- \`${scope}\`: ${needing.map(({ call }) => call).join(', ')}`);
  const scopes = lines.length === 0 ? [] : [`A token can be restricted to scopes:\n\n${lines.join('\n')}`];
  Object.assign(document.components?.securitySchemes?.[BEARER] ?? {}, { description: [CREDENTIAL, ...scopes].join('\n\n') });
  return described;
}

/** Adds the scopes to the description as well, because Swagger UI does not show extensions. */
function describeSecurity(operation: DocumentedOperation, route: Route, schemes: object): void {
  const scopes = scopesOf(route);
  const declared = operation.security?.filter((each) => Object.keys(each).every((name) => name in schemes)) ?? [];
  // Undefined means the scheme of the document, and replaces the other one that `@ApiBearerAuth()` names.
  Object.assign(operation, { security: tokenPolicyOf(route) === 'public' ? declared : undefined });
  if (scopes.length > 0) {
    const note = `A token that is restricted to scopes needs ${scopes.map((scope) => `\`${scope}\``).join(' and ')}.`;
    // Linters accept scopes in `security` only for OAuth 2.
    Object.assign(operation, { 'x-required-scopes': scopes });
    operation.description = [operation.description ?? [], note].flat().join('\n\n');
  }
}

function describeBody(operation: DocumentedOperation, body: BodyOptions | undefined): void {
  if (body) {
    const [media = { schema: {} }] = mediaTypesOf(operation.requestBody);
    const { description = '' } = operation.requestBody ?? {};
    const content = Object.fromEntries(body.mediaTypes.map((type) => [type, media]));
    operation.requestBody = { required: true, description: `${description} At most ${body.limit} bytes.`.trim(), content };
  }
}

/** Examples of the problems that an operation responds with, each with the headers that it adds. */
function problemsOf(
  operation: DocumentedOperation,
  path: string,
  route: Route,
  body: BodyOptions | undefined,
  schemas: Schemas,
): Problem[] {
  const scopes = scopesOf(route);
  const isPublic = tokenPolicyOf(route) === 'public';
  const takesBody = body !== undefined || hasParameter(RouteParamtypes.BODY, route);
  const hasFilter = operation.parameters?.some(({ name }) => name === 'filter');
  // A route without `@Operation()` cannot declare a conflict: assume one if it takes a body.
  const { problems = [] } = operationOf(route) ?? { problems: takesBody ? [conflict] : [] };
  const found = [
    ...exampleRefusals(operation, schemas),
    isIdempotent(route) && idempotencyKeyReusedProblem(),
    takesBody && contentTooLargeProblem(body?.limit),
    takesBody && exampleProblem(requestTimeout),
    // A filter of 2,000 characters, the maximum, can be longer when percent-encoded than the HTTP parser allows.
    hasFilter && exampleProblem(headerFieldsTooLarge),
    !isPublic && unauthorizedProblem(),
    // On public routes, slow filters are limited, too.
    (!isPublic || hasFilter) && rateLimitedProblem(100, 60, 12),
    scopes.length > 0 && insufficientScopeProblem(scopes),
    databaseUnavailable(),
    ...problems.map(exampleProblem),
    path.includes('{') && exampleProblem(notFound),
  ];
  return found.filter((problem) => problem instanceof Problem);
}

function describeResponses(
  operation: DocumentedOperation,
  path: string,
  prefix: string,
  route: Route,
  problems: readonly Problem[],
): void {
  const common = tokenPolicyOf(route) === 'public' ? COMMON_HEADERS : LIMIT_HEADERS;
  const onSuccess = headerReferences(isIdempotent(route) ? [...common, 'Idempotent-Replayed'] : common);
  for (const success of Object.values(operation.responses)) {
    success.headers = { ...onSuccess, ...success.headers };
  }
  const byType = new Map(problems.map((problem) => [problem.type, problem]));
  const byStatus = Map.groupBy(byType.values(), ({ type }) => type.status);
  // Statuses of `@ApiNotFoundResponse()` and the like. Their body is a problem, even if they declare another one.
  const declared = Object.keys(operation.responses).filter((status) => /^[45]\d\d$/.test(status));
  for (const status of new Set([...byStatus.keys(), ...declared.map(Number)])) {
    const alike = byStatus.get(status) ?? [];
    const isBeforeLimit = alike.every(({ type }) => WITHOUT_LIMIT.has(type));
    const names = alike.flatMap(({ headers }) => Object.keys(headers));
    const { description, headers } = operation.responses[status] ?? {};
    // Paths instead of Markdown links, for generated code. The console turns them into links.
    const titles = alike.map(({ type }) => `${type.title} (\`${problemTypeUri(type, prefix)}\`)`).join(', or ');
    operation.responses[status] = {
      description: [description, titles].filter(Boolean).join('\n\n'),
      headers: { ...headerReferences([...(isBeforeLimit ? COMMON_HEADERS : common), ...names]), ...headers },
      content: {
        [PROBLEM_MEDIA_TYPE]: { schema: { $ref: '#/components/schemas/Problem' }, ...examplesOf(alike, path, prefix) },
      },
    };
  }
}
