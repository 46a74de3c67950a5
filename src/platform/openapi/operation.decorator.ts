import { STATUS_CODES } from 'node:http';
import { applyDecorators, SetMetadata, HttpCode, HttpStatus, type Type } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { ProblemType } from '../http/problem-type.js';
import { metadataOf, type Route } from '../routes/route.js';

/** What only the route itself can say about an operation; everything else in the document is derived. */
export interface OperationOptions {
  /** A few words. */
  summary: string;
  /** Markdown. */
  description?: string;
  /** Class of the successful response, its properties documented with `@ApiProperty`; none for a response without a body. */
  response?: Type<object>;
  /** What the successful response is. */
  responseDescription?: string;
  /** Status of the successful response, which this sets as well; 200 unless given. */
  status?: HttpStatus;
  /** Types of the problems that the handler raises beside those of the platform. */
  problems?: readonly ProblemType[];
}

const OPERATION = 'operation';

/**
 * Documents a route. Its operation id is the name of its method, which must be unique in the service. Responses that
 * come from the platform (400, 401, 403, 413, 422, 429, 503) and their headers are added by `OpenApiDocument`.
 */
export function Operation(options: OperationOptions): MethodDecorator {
  const { summary, description, response, status = HttpStatus.OK } = options;
  const { responseDescription = STATUS_CODES[status] ?? '' } = options;
  return applyDecorators(
    SetMetadata(OPERATION, options),
    HttpCode(status),
    ApiOperation({ summary, ...(description !== undefined && { description }) }),
    ApiResponse({ status, ...(response && { type: response }), description: responseDescription }),
  );
}

/** The operation id of a route: its name where it has an `@Operation`, otherwise Nest's own, with the controller before it. */
export function operationIdOf(route: Route): string {
  return operationOf(route) ? route.name : `${route.controller.name}_${route.name}`;
}

/** What `@Operation` says of a route; undefined for a route without. */
export function operationOf(route: Route): OperationOptions | undefined {
  return metadataOf(OPERATION, route) as OperationOptions | undefined;
}
