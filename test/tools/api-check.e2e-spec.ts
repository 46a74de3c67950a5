import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { testDirectory } from '../support/test-database.js';

const parameter = (fields: object) => ({ parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer' }, ...fields }] });
const integer = (fields: object) => parameter({ schema: { type: 'integer', ...fields } });
const json = (schema: object) => ({ content: { 'application/json': { schema: { type: 'object', ...schema } } } });
const request = (schema: object) => ({ requestBody: json({ additionalProperties: false, ...schema }) });
const response = (fields: object) => ({ responses: { 200: { description: '', ...fields } } });
const header = (fields?: object) => response({ headers: { 'X-Total': fields } });
const property = (schema?: object) => ({ properties: { name: schema } });
const enumeration = (...values: string[]) => property({ enum: values });

/** Changes to one operation of a document, before and after. */
type Row = [verdict: 'refuses' | 'accepts', change: string, before: object, after: object | undefined];
const rows: Row[] = [
  ['refuses', 'no operation', {}, undefined],
  ['refuses', 'another operation id', { operationId: 'list' }, { operationId: 'find' }],
  ['refuses', 'another server', {}, { servers: [{ url: '/api' }] }],
  ['refuses', 'a token for what was public', { security: [] }, {}],
  ['accepts', 'the security that it inherited', {}, { security: [{ token: [] }] }],
  ['refuses', 'other scopes', { 'x-required-scopes': ['a'] }, { 'x-required-scopes': ['b'] }],
  ['refuses', 'a parameter that is required now', parameter({}), parameter({ required: true })],
  ['refuses', 'a new required parameter', {}, parameter({ required: true })],
  ['accepts', 'a new optional parameter', {}, parameter({})],
  ['refuses', 'a lower maximum', integer({ maximum: 100 }), integer({ maximum: 50 })],
  ['accepts', 'another text of a parameter', parameter({}), parameter({ description: 'Rows. '.repeat(99) })],
  ['refuses', 'another default', integer({ default: 20 }), integer({ default: 10 })],
  ['refuses', 'a new required body', {}, { requestBody: { ...json({}), required: true } }],
  ['refuses', 'no property of a request', request(property({})), request(property())],
  ['accepts', 'a new property of a request', request(property()), request(property({}))],
  ['refuses', 'fewer values in a request', request(enumeration('a', 'b')), request(enumeration('a'))],
  ['refuses', 'a required property of a request', request({}), request({ required: ['name'] })],
  ['refuses', 'no header', header({ schema: {} }), header()],
  ['refuses', 'an optional header', header({ required: true, schema: {} }), header({ schema: {} })],
  ['refuses', 'a header that may be anything', header({ schema: {} }), header({})],
  ['refuses', 'no property of a response', response(json(property({}))), response(json(property()))],
  ['accepts', 'a new property of a response', response(json(property())), response(json(property({})))],
  ['refuses', 'an optional property of a response', response(json({ required: ['name'] })), response(json({}))],
  ['refuses', 'another format in a response', response(json(property({}))), response(json(property({ format: 'byte' })))],
  ['refuses', 'more values in a response', response(json(enumeration('a'))), response(json(enumeration('a', 'b')))],
];

/** Runs a script of package.json on documents with a path for each row, one released and one current. */
function run(script: string, some: Row[], ...options: string[]) {
  const directory = mkdtempSync(join(testDirectory(), 'api-'));
  const write = (file: string, side: 2 | 3) => {
    const paths = some.map((row, index) => [`/${index}`, { post: row[side] && { ...response({}), ...row[side] } }]);
    const components = { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } };
    const document = { openapi: '3.1.0', info: { title: '', version: '' }, security: [{ token: [] }], components };
    writeFileSync(join(directory, file), JSON.stringify({ ...document, paths: Object.fromEntries(paths) as object }));
  };
  write('openapi.released.json', 2);
  write('openapi.json', 3);
  for (const name of ['package.json', 'node_modules', 'tools']) symlinkSync(resolve(name), join(directory, name));
  const read = (file: string) => readFileSync(join(directory, file), 'utf8');
  const result = spawnSync('npm', ['run', '--silent', script, ...options], { cwd: directory, encoding: 'utf8' });
  return { ...result, isReleased: read('openapi.released.json') === read('openapi.json') };
}

const report = JSON.parse(run('api:check', rows, '--', '--format', 'json').stdout) as {
  changes: { path: string; impact: string }[];
};
const breaking = new Set(report.changes.filter(({ impact }) => impact === 'major').map(({ path }) => /~1(\d+)/.exec(path)?.[1]));

it.each(rows.map(([verdict, change], index) => [verdict, change, index]))(
  'npm run api:check %s %s [additions-only]',
  (verdict, _change, index) => {
    expect(breaking.has(String(index))).toBe(verdict === 'refuses');
  },
);

it('npm run api:release releases the current document unless it would break clients', () => {
  expect(run('api:release', rows)).toMatchObject({ status: 1, isReleased: false });
  const additions = rows.filter(([verdict]) => verdict === 'accepts');
  expect(run('api:release', additions)).toMatchObject({ status: 0, isReleased: true });
});
