import { STATUS_CODES } from 'node:http';
import { applyDecorators, HttpCode, HttpStatus } from '@nestjs/common';
import { ApiOperation, ApiResponse, DECORATORS } from '@nestjs/swagger';
import { EtagInterceptor, hasEtag } from '../preconditions/etag.interceptor.js';
import { SetHandlerMetadata } from '../routes/handler-metadata.js';
import { OPERATION, type OperationOptions } from '../routes/operation.js';
import { useOutermost } from '../routes/outermost.js';
import { whitelistResult } from './result-whitelist.js';

/**
 * Documents a route. The operation id is the name of the method, which must be unique in the service. `describeOperations`
 * adds the platform's responses (304, 400, 401, 403, 404, 408, 412, 413, 422, 429 and 503, where they apply) and headers.
 */
export function Operation(options: OperationOptions): MethodDecorator {
  const { summary, description, response, status = HttpStatus.OK } = options;
  return applyDecorators(
    SetHandlerMetadata(OPERATION, options, '@Operation()'),
    HttpCode(status),
    ApiOperation({ summary, ...(description !== undefined && { description }) }),
    documentResponse(status, options),
    whitelistResult,
    ...(hasEtag(response) ? [useOutermost(EtagInterceptor)] : []),
  );
}

/** Documents the successful response, unless there is no `response` and decorators below have documented this status. */
function documentResponse(status: HttpStatus, { response, responseDescription }: OperationOptions): MethodDecorator {
  const description = responseDescription ?? STATUS_CODES[status] ?? '';
  return (target, name, descriptor) => {
    const documented = Object(Reflect.getMetadata(DECORATORS.API_RESPONSE, Object(descriptor.value) as object)) as object;
    if (response || !(status in documented)) {
      ApiResponse({ status, ...(response && { type: response }), description })(target, name, descriptor);
    }
  };
}
