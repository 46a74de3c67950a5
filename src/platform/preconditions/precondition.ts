import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import { defineProblemType } from '../problems/problem-types.js';
import { invalidRequest, Problem } from '../problems/problem.js';
import type { Route } from '../routes/route.js';
import { type EntityTags, parseCondition } from './entity-tags.js';

/** What a client demands of the row that it changes (RFC 9110, section 13.1). */
export interface Precondition {
  readonly ifMatch?: EntityTags | undefined;
  readonly ifNoneMatch?: EntityTags | undefined;
}

const preconditionFailed = defineProblemType({
  name: 'precondition-failed',
  status: 412,
  title: 'Precondition failed',
  remedy:
    'The resource has another version than `If-Match` demands, or does not exist: another client has changed or ' +
    'deleted it since you read it. Nothing was changed. Read it again, and repeat your change with its new `ETag`.',
});

export function preconditionFailedProblem(): Problem {
  return new Problem(preconditionFailed, 'The resource is not in the state that the request demands: read it again.');
}

/** @throws Problem 400 for a header that is not `*` or a list of entity tags */
function tagsIn(request: Request, name: 'If-Match' | 'If-None-Match'): EntityTags | undefined {
  // Node joins repeated headers with a comma and a space.
  const value = request.get(name);
  const tags = value === undefined ? undefined : parseCondition(value);
  if (value !== undefined && tags === undefined) {
    const detail = 'must be * or a list of entity tags with their double quotes, as ETag has them';
    throw invalidRequest([{ parameter: name, code: 'etag', detail }]);
  }
  return tags;
}

/** @throws Problem 400 for a malformed header */
export function preconditionOf(request: Request): Precondition {
  return { ifMatch: tagsIn(request, 'If-Match'), ifNoneMatch: tagsIn(request, 'If-None-Match') };
}

const CONDITIONAL = 'conditional';

/** Takes and documents a precondition for `Lists.update` or `Lists.remove`: `@IfMatch() precondition: Precondition`. */
export const IfMatch = createParamDecorator(
  (_data: undefined, context: ExecutionContext) => preconditionOf(context.switchToHttp().getRequest<Request>()),
  [(target, name = '') => Reflect.defineMetadata(CONDITIONAL, true, target.constructor, name)],
);

export function hasPrecondition({ controller, name }: Pick<Route, 'controller' | 'name'>): boolean {
  return Reflect.hasMetadata(CONDITIONAL, controller, name);
}
