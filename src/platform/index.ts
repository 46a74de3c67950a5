/**
 * Everything that features may import from the platform. All other files may change at any time.
 *
 * A feature is a Nest module. Each route declares who may call it (`@RequireScopes` or `@Public`) and its input (classes
 * with rules); otherwise the application does not start. `@Operation` documents its response, and limits what is sent to
 * that. The platform adds authentication, rate limiting, validation, problem responses and the OpenAPI document.
 */
export { ResponseOf, VersionedResponseOf } from './responses/response-of.js';
export { Authenticator } from './auth/authenticator.js';
export { CurrentPrincipal, hasScope, type Principal } from './auth/principal.js';
export { defineScope, Public, RequireScopes } from './auth/scopes.guard.js';
export { variables } from './config/read-configuration.js';
export { Seconds } from './config/variables.decorators.js';
export { Database } from './database/database.js';
export { conflict } from './database/database-problem.js';
export { creationTime, newId } from './ids/id.js';
export { IndexMigration, MigrationsModule, SqlMigration } from './database/migrations.js';
export { TableRights } from './database/table-rights.js';
export { HealthIndicators } from './health/health-indicators.js';
export { Drain } from './http/drain.js';
export { ProblemFilter } from './http/problem.filter.js';
export { publicPath } from './routes/public-path.js';
export { Problem } from './problems/problem.js';
export { defineProblemType, notFound } from './problems/problem-types.js';
export { type BodyParserOptions, UseBodyParser } from './bodies/use-body-parser.decorator.js';
export { Idempotent, SafeToRetry } from './idempotency/idempotent.decorator.js';
export { defineFilter } from './lists/filter/define-filter.js';
export { Lists } from './lists/lists.js';
export { defineOrder, type ListOptions, type Where } from './lists/list-options.js';
export { mapPage, type Page, PageOf, PageQuery, PageQueryOf, type Row } from './lists/page.js';
export { Metrics } from './observability/metrics.js';
export { Operation } from './responses/operation.decorator.js';
export { ApiTag } from './routes/api-tag.decorator.js';
export { etagOf } from './preconditions/entity-tags.js';
export { Etag } from './preconditions/etag.interceptor.js';
export { IfMatch, type Precondition } from './preconditions/precondition.js';
export { traced, tracedFetch } from './tracing/tracing.js';
export { Integer, OneOf, Text, Uuid } from './validation/properties.decorators.js';
export { Rule } from './validation/rule.js';
