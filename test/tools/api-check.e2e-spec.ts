import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { testDirectory } from '../support/test-database.js';

const parameter = (fields: object) => ({
  parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer' }, ...fields }],
});
const integer = (fields: object) => parameter({ schema: { type: 'integer', ...fields } });
const json = (schema: object) => ({ content: { 'application/json': { schema: { type: 'object', ...schema } } } });
const request = (schema: object) => ({ requestBody: json({ additionalProperties: false, ...schema }) });
const response = (fields: object) => ({ responses: { 200: { description: '', ...fields } } });
const header = (fields?: object) => response({ headers: { 'X-Total': fields } });
const property = (schema?: object) => ({ properties: { name: schema } });
const enumeration = (...values: string[]) => property({ enum: values });
/** An operation that is deprecated until a number of days from today, as the service documents it. */
const deprecated = (days: number, fields: object = {}) => {
  const link = { schema: { type: 'string' }, example: '</1>; rel="successor-version"' };
  const headers = { 'X-Total': { schema: {} }, Deprecation: { schema: {} }, Sunset: { schema: {} }, Link: link };
  const sunset = new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  return { deprecated: true, 'x-sunset': sunset, ...response({ headers }), ...fields };
};

interface Document {
  tags: object[];
  paths: Record<string, Record<string, object>>;
  components: { schemas: Record<string, object> };
}

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
  ['accepts', 'a deprecation', {}, deprecated(365)],
  ['accepts', 'a deprecation with a sunset that has passed, whose operation is still there', {}, deprecated(-1)],
  ['accepts', 'no deprecation', deprecated(365), header({ schema: {} })],
  ['accepts', 'a later sunset', deprecated(365), deprecated(366)],
  ['refuses', 'an earlier sunset', deprecated(365), deprecated(364)],
  ['accepts', 'no operation on the day of its sunset', deprecated(0), undefined],
  ['accepts', 'no operation after its sunset', deprecated(-400, header({ schema: {} })), undefined],
  ['refuses', 'no operation before its sunset', deprecated(2), undefined],
  ['refuses', 'no operation that was deprecated without a sunset', { deprecated: true }, undefined],
  ['refuses', 'no operation that has only a sunset', { 'x-sunset': '2001-01-01' }, undefined],
  ['refuses', 'no operation with a sunset that is no day', deprecated(0, { 'x-sunset': '1' }), undefined],
  ['refuses', 'no header beside those of the deprecation', deprecated(365), response({})],
  ['refuses', 'more values in a response', response(json(enumeration('a'))), response(json(enumeration('a', 'b')))],
];

/** A document with a path for each row. */
function documentOf(some: Row[], side: 2 | 3): object {
  const paths = some.map((row, index) => [`/${index}`, { post: row[side] && { ...response({}), ...row[side] } }]);
  const components = { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } };
  const document = { openapi: '3.1.0', info: { title: '', version: '' }, security: [{ token: [] }], components };
  return { ...document, paths: Object.fromEntries(paths) as object };
}

function run(script: string, some: Row[], ...options: string[]) {
  return runOn(documentOf(some, 2), documentOf(some, 3), script, ...options);
}

/** Runs a script of package.json on the released and the current document. */
function runOn(released: object, current: object, script: string, ...options: string[]) {
  const directory = mkdtempSync(join(testDirectory(), 'api-'));
  writeFileSync(join(directory, 'openapi.released.json'), JSON.stringify(released));
  writeFileSync(join(directory, 'openapi.json'), JSON.stringify(current));
  for (const name of ['package.json', 'node_modules', 'tools']) symlinkSync(resolve(name), join(directory, name));
  const read = (file: string) => readFileSync(join(directory, file), 'utf8');
  const result = spawnSync('npm', ['run', '--silent', script, ...options], { cwd: directory, encoding: 'utf8' });
  return { ...result, isReleased: read('openapi.released.json') === read('openapi.json') };
}

const report = JSON.parse(run('api:check', rows, '--', '--format', 'json').stdout) as {
  changes: { path: string; impact: string }[];
};
const breaking = new Set(
  report.changes.filter(({ impact }) => impact === 'major').map(({ path }) => /~1(\d+)/.exec(path)?.[1]),
);

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

it.each([
  ['accepts', 'after', -1, 0],
  ['refuses', 'before', 2, 1],
])(
  'npm run api:check %s that a path, and an operation of another one, go %s the sunset [sunset-kept]',
  (...[, , days, status]) => {
    const current = JSON.parse(readFileSync('openapi.json', 'utf8')) as Document;
    const released = structuredClone(current);
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/Old' } } };
    const old = deprecated(days, {
      tags: ['Old'],
      requestBody: { content },
      responses: { 200: { description: '', content } },
    });
    released.tags.push({ name: 'Old', description: 'Old.' });
    released.components.schemas['Old'] = { type: 'object', properties: { name: { type: 'string' } } };
    released.paths['/v1/old'] = { get: old, post: old };
    Object.assign(released.paths['/v1/items'] ?? {}, { delete: old });
    const result = runOn(released, current, 'api:check');
    expect(result).toMatchObject({ status });
    const removed = [...result.stdout.matchAll(/`([^`]*)` was removed/g)].map(([, name]) => name);
    expect(removed.toSorted()).toEqual(status === 0 ? [] : ['/v1/old', 'DELETE /v1/items']);
  },
);
