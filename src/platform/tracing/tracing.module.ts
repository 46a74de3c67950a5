import { Module } from '@nestjs/common';
import { Tracing } from './tracing.js';

/** What the service tells of the way of single requests. */
@Module({ providers: [Tracing], exports: [Tracing] })
export class TracingModule {}
