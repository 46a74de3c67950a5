import { Module } from '@nestjs/common';
import { DocsController } from './docs.controller.js';
import { OpenApiDocument } from './openapi-document.js';

/** Swagger UI at `/docs`, the document at `/openapi.json`. */
@Module({ controllers: [DocsController], providers: [OpenApiDocument], exports: [OpenApiDocument] })
export class OpenApiModule {}
