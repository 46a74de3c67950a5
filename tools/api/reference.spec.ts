import { readFileSync } from 'node:fs';
import type { ApiDocument } from './api-document.ts';
import { referenceOf } from './reference.ts';

it('is up to date in docs/api.md: otherwise run `npm run openapi`', () => {
  const document = JSON.parse(readFileSync('openapi.json', 'utf8')) as ApiDocument;
  expect(readFileSync('docs/api.md', 'utf8')).toBe(referenceOf(document));
});

it('has each operation, parameter, status, schema and property, on one line of a table', () => {
  const other = { anyOf: [{ $ref: '#/components/schemas/Part' }, { type: 'null' }] };
  const schema = {
    type: 'object',
    required: ['size'],
    properties: { other, size: { type: 'string', enum: ['a'], description: 'A | B' } },
  };
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/Part' }, example: { size: 'a' } } };
  const parameters = [{ name: 'id', in: 'path', required: true, description: 'One.\n\nTwo.', schema: { type: 'string' } }];
  const responses = {
    200: {
      description: 'The part.',
      headers: { ETag: { $ref: '#/components/headers/EntityTag' }, Age: { description: 'Its age.' } },
      content,
    },
  };
  const reference = referenceOf({
    info: { title: 'Parts', version: '3.0.0', description: '## First steps\n\nConsole.\n\n## All\n\nTexts.' },
    paths: {
      '/v1/parts/{id}': {
        put: { summary: 'Put a part', deprecated: true, parameters, requestBody: { content }, responses },
      },
    },
    components: { schemas: { Part: schema }, headers: { EntityTag: { description: 'The tag.' } } },
  });
  const lines = [
    '# Parts 3.0.0: API reference',
    '`PUT /v1/parts/{id}` (deprecated)',
    '| `id` in path (required) | string | One.<br>Two. |',
    'Body: [Part](#part) as `application/json`',
    '| 200 | The part. | [Part](#part) as `application/json` | ETag, Age |',
    String.raw`| ${'`size`'} (required) | string, enum ["a"] | A \| B |`,
    '| `other` | [Part](#part) or null |  |',
    '| ETag | The tag. |',
    '| Age | Its age. |',
    'Texts.',
  ];
  expect(reference.split('\n')).toEqual(expect.arrayContaining(lines));
  expect(reference).not.toContain('Console.');
});
