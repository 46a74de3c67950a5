import { Controller, Get, Header, Req, VERSION_NEUTRAL } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Hidden } from '../openapi/hidden.decorator.js';
import type { Request } from 'express';
import { Public } from '../auth/token-policy.decorator.js';
import { PROBLEMS_PATH } from '../http/problem-type.js';
import { OpenApiDocument } from '../openapi/openapi-document.js';
import { consolePage, landingPage, problemsPage } from './pages.js';

const HTML = ['Content-Type', 'text/html; charset=utf-8'] as const;

/** For programs that are given the address of the service alone (RFC 8631): what it offers, its documentation, its state. */
const SERVICE_LINKS = [
  '<openapi.json>; rel="service-desc"; type="application/json"',
  '<docs>; rel="service-doc"; type="text/html"',
  '<readyz>; rel="status"; type="application/json"',
].join(', ');

/** Documentation: pages for people, and the OpenAPI document for programs. */
@Public()
@Hidden()
@Controller({ version: VERSION_NEUTRAL })
export class DocsController {
  constructor(private readonly document: OpenApiDocument) {}

  @Get()
  @Header(...HTML)
  @Header('Link', SERVICE_LINKS)
  landing(@Req() request: Request): string {
    return landingPage(this.document.get(), request);
  }

  @Get('docs')
  @Header(...HTML)
  console(): string {
    return consolePage(this.document.get().info.title);
  }

  @Get(PROBLEMS_PATH)
  @Header(...HTML)
  problems(): string {
    return problemsPage(this.document.get().info.title);
  }

  @Get('openapi.json')
  openApiDocument(): OpenAPIObject {
    return this.document.get();
  }
}
