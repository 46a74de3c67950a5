import { RequestMethod } from '@nestjs/common';
import type { Problem } from '../problems/problem.js';
import { CONDITION } from '../preconditions/entity-tags.js';
import { hasEtag } from '../preconditions/etag.interceptor.js';
import { preconditionFailedProblem, hasPrecondition } from '../preconditions/precondition.js';
import { faultsOfRoute, methodOf, type Route } from '../routes/route.js';
import type { DocumentedOperation } from './openapi-document.js';
import { operationOf } from '../routes/operation.js';

const ETAG = {
  description: 'Changes with the resource (RFC 9110, section 8.8.3): the `etag` of the body.',
  schema: { type: 'string' as const },
  example: '"1-Ze-_OBVxzGTLGYrB"',
};

const condition = (name: string, description: string) => {
  const schema = { type: 'string' as const, pattern: CONDITION.source };
  return { name, in: 'header' as const, required: false, description, schema };
};

const IF_MATCH = condition(
  'If-Match',
  'Refuses the request with 412 unless the resource has this `ETag`, or one of a list, or exists (`*`).',
);
const IF_NONE_MATCH = condition(
  'If-None-Match',
  'Responds 304, without a body, if the resource still has this `ETag`, or one of a list.',
);

/** Documents the `ETag` of an operation and the headers that refer to it. @returns the problems that these cause */
export function describeConditions(operation: DocumentedOperation, route: Route): Problem[] {
  const hasTag = hasEtag(operationOf(route)?.response);
  const isRead = hasTag && methodOf(route) === RequestMethod.GET;
  const isConditional = isRead || hasPrecondition(route);
  const successes = Object.entries(operation.responses).filter(([status]) => hasTag && status.startsWith('2'));
  for (const [, response] of successes) {
    response.headers = { ...response.headers, ETag: ETAG };
  }
  if (isRead) {
    operation.responses['304'] = { description: 'Not Modified', headers: { ETag: ETAG } };
  }
  const conditions = [...(isConditional ? [IF_MATCH] : []), ...(isRead ? [IF_NONE_MATCH] : [])];
  operation.parameters = [...(operation.parameters ?? []), ...conditions];
  return isConditional ? [preconditionFailedProblem()] : [];
}

/** Rejects an update that would ignore `If-Match`, although its clients get an `ETag`. */
export function conditionFaults(route: Route): string[] {
  const isUpdate = [RequestMethod.PATCH, RequestMethod.PUT].includes(methodOf(route));
  const remedy = 'take it with @IfMatch(), and pass it to lists.update().';
  const isIgnored = isUpdate && hasEtag(operationOf(route)?.response) && !hasPrecondition(route);
  return faultsOfRoute(route, [isIgnored && `sends an ETag and ignores If-Match: ${remedy}`]);
}
