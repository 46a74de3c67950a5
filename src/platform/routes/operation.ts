import { applyDecorators, type HttpStatus, SetMetadata, type Type } from '@nestjs/common';
import { ApiExcludeController, DECORATORS } from '@nestjs/swagger';
import type { ProblemType } from '../problems/problem-types.js';
import { metadataOf, type Route } from './route.js';

const HIDDEN = 'hidden';

/**
 * Marks a controller for operators or browsers: it is not in the OpenAPI document, takes any query and body, is served
 * during overload, and is skipped by global guards and interceptors of features.
 */
export function Hidden(): ClassDecorator {
  return applyDecorators(ApiExcludeController(), SetMetadata(HIDDEN, true));
}

export function isHidden(route: Pick<Route, 'controller' | 'handler'>): boolean {
  return metadataOf(HIDDEN, route) === true;
}

/** Announces the removal of an operation, at least 12 months ahead. Days are `YYYY-MM-DD`, and begin at 00:00 UTC. */
export interface Deprecation {
  /** The day of the release that announces it. */
  since: string;
  /** From this day on the operation may be removed: 12 months after `since`, or later. */
  sunset: string;
  /** What to use instead: a path such as `/v1/widgets/{id}`, with path parameters of this route, or words. */
  use: string;
}

/** Documentation of an operation that cannot be derived from the route. */
export interface OperationOptions {
  /** A few words, imperative: `Create an item`. */
  summary: string;
  /** In Markdown. */
  description?: string;
  /**
   * Class of the successful response, or `[LoanDto]` for an array. Clients get only its documented properties. Omit it if
   * there is no body.
   */
  response?: Type<object> | [Type<object>];
  /** By default the name of the status, such as `Created`. */
  responseDescription?: string;
  /** Status of the successful response, which this also sets; 200 by default. */
  status?: HttpStatus;
  /** Problem types that the handler throws. */
  problems?: readonly ProblemType[];
  /** Sent with every response of the route, in the headers `Deprecation`, `Sunset` and, for a path, `Link`. */
  deprecated?: Deprecation;
}

export const OPERATION = 'operation';

/** The options of the route's `@Operation`, if any. */
export function operationOf(route: Pick<Route, 'controller' | 'handler'>): OperationOptions | undefined {
  return metadataOf(OPERATION, route) as OperationOptions | undefined;
}

/** The id of `@ApiOperation()`, or the method name with `@Operation`, or Nest's default with the controller name. */
export function operationIdOf(route: Route): string {
  const { operationId } = (Reflect.getMetadata(DECORATORS.API_OPERATION, route.handler) ?? {}) as { operationId?: string };
  return operationId ?? (operationOf(route) ? route.name : `${route.controller.name}_${route.name}`);
}
