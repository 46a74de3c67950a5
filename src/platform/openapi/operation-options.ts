import type { HttpStatus, Type } from '@nestjs/common';
import type { ProblemType } from '../http/problem-type.js';
import { metadataOf, type Route } from '../routes/route.js';

/** What only the route itself can say about an operation; everything else in the document is derived. */
export interface OperationOptions {
  /** A few words. */
  summary: string;
  /** Markdown. */
  description?: string;
  /** Class of the successful response, or `[LoanDto]` for a list: clients get its properties with `@ApiProperty`. None for no body. */
  response?: Type<object> | [Type<object>];
  /** What the successful response is. */
  responseDescription?: string;
  /** Status of the successful response, which this sets as well; 200 unless given. */
  status?: HttpStatus;
  /** Types of the problems that the handler raises beside those of the platform. */
  problems?: readonly ProblemType[];
}

/** Metadata key of `@Operation`. */
export const OPERATION = 'operation';

/** The operation id of a route: its name where it has an `@Operation`, otherwise Nest's own, with the controller before it. */
export function operationIdOf(route: Route): string {
  return operationOf(route) ? route.name : `${route.controller.name}_${route.name}`;
}

/** What `@Operation` says of a route; undefined for a route without. */
export function operationOf(route: Pick<Route, 'controller' | 'handler'>): OperationOptions | undefined {
  return metadataOf(OPERATION, route) as OperationOptions | undefined;
}
