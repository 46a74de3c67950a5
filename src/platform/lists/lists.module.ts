import { Global, Module } from '@nestjs/common';
import { Lists } from './lists.js';

/** Paging and filtering: other modules inject `Lists`. */
@Global()
@Module({ providers: [Lists], exports: [Lists] })
export class ListsModule {}
