import { Controller, Get, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController, type OpenAPIObject } from '@nestjs/swagger';
import { Public } from '../auth/token-policy.decorator.js';
import { AnyQuery } from '../validation/any-query.decorator.js';
import { OpenApiDocument } from './openapi-document.js';

/** The API explains itself to programs. */
@Public()
@AnyQuery()
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class OpenApiController {
  constructor(private readonly document: OpenApiDocument) {}

  @Get('openapi.json')
  openApiDocument(): OpenAPIObject {
    return this.document.get();
  }
}
