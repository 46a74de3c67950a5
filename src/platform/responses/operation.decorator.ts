import { STATUS_CODES } from 'node:http';
import { applyDecorators, HttpCode, HttpStatus, SetMetadata } from '@nestjs/common';
import { ApiOperation, ApiResponse } from '@nestjs/swagger';
import { IdempotencyInterceptor } from '../idempotency/idempotent.decorator.js';
import { EtagInterceptor, hasEtag } from '../preconditions/etag.interceptor.js';
import { OPERATION, type OperationOptions } from '../routes/operation.js';
import { useOutermost } from '../routes/outermost.js';
import { ResponseInterceptor } from './response.interceptor.js';
import { whitelistResult } from './result-whitelist.js';

/**
 * Documents a route. The operation id is the name of the method, which must be unique in the service. `describeOperations`
 * adds the platform's responses (304, 400, 401, 403, 404, 408, 412, 413, 422, 429 and 503, where they apply) and headers.
 */
export function Operation(options: OperationOptions): MethodDecorator {
  const { summary, description, response, status = HttpStatus.OK } = options;
  const { responseDescription = STATUS_CODES[status] ?? '' } = options;
  return applyDecorators(
    SetMetadata(OPERATION, options),
    HttpCode(status),
    ApiOperation({ summary, ...(description !== undefined && { description }) }),
    ApiResponse({ status, ...(response && { type: response }), description: responseDescription }),
    ...(response ? [useOutermost(ResponseInterceptor, IdempotencyInterceptor, EtagInterceptor), whitelistResult] : []),
    ...(hasEtag(response) ? [useOutermost(EtagInterceptor)] : []),
  );
}
