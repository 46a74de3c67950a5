/**
 * The platform's door: all that features may use. What is not exported here may change at any time.
 *
 * A feature is a Nest module of its own. Its routes need a token, are rate-limited, have their input validated and their
 * errors answered as problems, and appear in the OpenAPI document, without a line of its own.
 */
export type { Principal } from './auth/principal.js';
export { Public } from './auth/public.decorator.js';
export { DatabaseModule } from './database/database.module.js';
export { Database } from './database/database.js';
export { IndexMigration } from './database/index-migration.js';
export { SqlMigration } from './database/sql-migration.js';
export type { Tables } from './database/table-registry.js';
export { type HealthIndicator, HealthIndicators } from './health/health-indicators.js';
export { notFound } from './http/http-problem-types.js';
export { Problem, type ProblemOptions, type RequestFault } from './http/problem.js';
export { defineProblemType, type ProblemType } from './http/problem-type.js';
export { Idempotent } from './idempotency/idempotent.decorator.js';
export { defineFilter, type FilterDefinition } from './lists/filter/define-filter.js';
export { Lists } from './lists/lists.js';
export { creationTime, newId } from './database/id.js';
export { mapPage, type Page, PageOf } from './lists/page.js';
export { PageQuery } from './lists/page-query.js';
export { PageQueryOf } from './lists/page-query-of.js';
export { Operation, type OperationOptions } from './openapi/operation.decorator.js';
export { Rule, type RuleTest } from './validation/rule.js';
export { Text, type TextOptions } from './validation/text.decorator.js';
