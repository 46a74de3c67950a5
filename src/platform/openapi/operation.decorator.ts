import { applyDecorators, HttpStatus, type Type } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';

/** What only the route itself can say about an operation; everything else in the document is derived. */
export interface OperationOptions {
  /** A few words. */
  summary: string;
  /** Markdown. */
  description?: string;
  /** Class of the successful answer, its properties documented with `@ApiProperty`. */
  answer: Type;
  /** What the successful answer is. */
  answerDescription: string;
  /** Status of the successful answer; 200 unless given. */
  status?: HttpStatus;
}

/**
 * Documents a route. Its operation id is the name of its method, which must be unique in the service. Answers that
 * come from the platform (400, 401, 413, 422, 429, 503) and their headers are added by `buildOpenApiDocument`.
 */
export function Operation(options: OperationOptions): MethodDecorator {
  const { summary, description, answer, answerDescription, status = HttpStatus.OK } = options;
  return applyDecorators(
    ApiOperation({ summary, ...(description !== undefined && { description }) }),
    ApiResponse({ status, type: answer, description: answerDescription }),
  );
}
