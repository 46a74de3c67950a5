import { Module } from '@nestjs/common';
import { OpenApiController } from './openapi.controller.js';
import { OpenApiDocument } from './openapi-document.js';

/** The OpenAPI document, at `/openapi.json`. */
@Module({ controllers: [OpenApiController], providers: [OpenApiDocument], exports: [OpenApiDocument] })
export class OpenApiModule {}
