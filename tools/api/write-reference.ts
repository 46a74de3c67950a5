import { readFileSync, writeFileSync } from 'node:fs';
import type { ApiDocument } from './api-document.ts';
import { referenceOf } from './reference.ts';

// Writes docs/api.md from openapi.json: a part of npm run openapi.

writeFileSync('docs/api.md', referenceOf(JSON.parse(readFileSync('openapi.json', 'utf8')) as ApiDocument));
