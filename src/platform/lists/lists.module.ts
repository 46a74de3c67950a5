import { Global, Module } from '@nestjs/common';
import { FilteredReads } from './filtered-reads.js';
import { Lists } from './lists.js';

/** Paging and filtering: other modules inject `Lists`. */
@Global()
@Module({ providers: [FilteredReads, Lists], exports: [Lists] })
export class ListsModule {}
