import { Controller, Get, Header, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController, type OpenAPIObject } from '@nestjs/swagger';
import { Public } from '../auth/public.decorator.js';
import { PROBLEMS_PATH } from '../http/problem-type.js';
import { problemsPage, SWAGGER_UI_INITIALIZER, SWAGGER_UI_PAGE } from './docs-pages.js';
import { OpenApiDocument } from './openapi-document.js';

/** The API explains itself: Swagger UI, the document behind it, and the problem types. */
@Public()
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
    return SWAGGER_UI_PAGE;
  }

  @Get('docs/initializer.js')
  @Header('Content-Type', 'text/javascript; charset=utf-8')
  swaggerUiInitializer(): string {
    return SWAGGER_UI_INITIALIZER;
  }

  @Get(PROBLEMS_PATH)
  @Header('Content-Type', 'text/html; charset=utf-8')
  problems(): string {
    return problemsPage();
  }
}
