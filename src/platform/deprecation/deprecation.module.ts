import { Module } from '@nestjs/common';
import { DeprecatedCalls } from './deprecated-calls.js';

/** What announces that operations will be removed, and counts who still calls them. */
@Module({ providers: [DeprecatedCalls], exports: [DeprecatedCalls] })
export class DeprecationModule {}
