import { readFileSync } from 'node:fs';
import { AppModule } from '../../src/app.module.js';
import type { Document } from '../support/contract.js';
import { describeFuzz } from './support/describe-fuzz.js';
import { settings } from './support/fuzz.js';

describeFuzz({
  document: JSON.parse(readFileSync('openapi.json', 'utf8')) as Document,
  root: AppModule,
  collection: '/v1/items',
  requests: settings.requests,
});
