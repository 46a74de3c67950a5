import { Module } from '@nestjs/common';
import { OpenApiModule } from '../openapi/openapi.module.js';
import { DocsController } from './docs.controller.js';

/** Pages for people: the landing page at `/`, the console at `/docs`, what problems mean at `/docs/problems`. */
@Module({ imports: [OpenApiModule], controllers: [DocsController] })
export class DocsModule {}
