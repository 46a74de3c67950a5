import { readFileSync } from 'node:fs';
import { AppModule } from '../../src/app.module.js';
import type { Document } from '../support/contract.js';
import { describeFuzz, REQUESTS } from './support/describe-fuzz.js';

const document = JSON.parse(readFileSync('openapi.json', 'utf8')) as Document;

describeFuzz(document, AppModule, '/v1/items', REQUESTS);
