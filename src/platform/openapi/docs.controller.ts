import { Controller, Get, Header, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController, type OpenAPIObject } from '@nestjs/swagger';
import { Public } from '../auth/token-policy.decorator.js';
import { PROBLEMS_PATH } from '../http/problem-type.js';
import { problemsPage, SWAGGER_UI_INITIALIZER, swaggerUiPage } from './docs-pages.js';
import { OpenApiDocument } from './openapi-document.js';
import { AnyQuery } from '../validation/any-query.decorator.js';

/** The API explains itself: Swagger UI, the document behind it, and the problem types. */
@Public()
@AnyQuery()
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class DocsController {
  constructor(private readonly document: OpenApiDocument) {}

  @Get('openapi.json')
  openApiDocument(): OpenAPIObject {
    return this.document.get();
  }

  @Get('docs')
  @Header('Content-Type', 'text/html; charset=utf-8')
  swaggerUi(): string {
    return swaggerUiPage(this.document.get().info.title);
  }

  @Get('docs/initializer.js')
  @Header('Content-Type', 'text/javascript; charset=utf-8')
  swaggerUiInitializer(): string {
    return SWAGGER_UI_INITIALIZER;
  }

  @Get(PROBLEMS_PATH)
  @Header('Content-Type', 'text/html; charset=utf-8')
  problems(): string {
    return problemsPage(this.document.get().info.title);
  }
}
