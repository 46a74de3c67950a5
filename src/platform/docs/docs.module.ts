import { Module } from '@nestjs/common';
import { OpenApiDocument } from '../openapi/openapi-document.js';
import { DocsController } from './docs.controller.js';

/** The landing page at `/`, the console at `/docs`, what problems mean at `/docs/problems`, and `/openapi.json`. */
@Module({ controllers: [DocsController], providers: [OpenApiDocument] })
export class DocsModule {}
