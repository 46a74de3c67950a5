import { Controller, Get, VERSION_NEUTRAL } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Public } from '../auth/token-policy.decorator.js';
import { PROBLEMS_PATH } from '../http/problem-type.js';
import { Hidden } from '../openapi/route-documentation.js';
import { OpenApiDocument } from '../openapi/openapi-document.js';
import { consolePage, landingPage, problemsPage } from './pages.js';

/** Documentation: pages for people, and the OpenAPI document for programs. */
@Public()
@Hidden()
@Controller({ version: VERSION_NEUTRAL })
export class DocsController {
  constructor(private readonly document: OpenApiDocument) {}

  @Get()
  landing(): string {
    return landingPage(this.document.get());
  }

  @Get('docs')
  console(): string {
    return consolePage(this.document.get().info.title);
  }

  @Get(PROBLEMS_PATH)
  problems(): string {
    return problemsPage(this.document.get().info.title);
  }

  @Get('openapi.json')
  openApiDocument(): OpenAPIObject {
    return this.document.get();
  }
}
