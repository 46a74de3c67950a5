import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareDocuments } from '../../api/compare-documents.ts';
import { lateNotices } from '../../api/sunset.ts';
import { testDirectory } from '../support/test-database.js';

/** A part of an OpenAPI document, loose enough to be edited in ways that nobody foresaw. */
interface Schema {
  [keyword: string]: unknown;
  properties: Record<string, Schema>;
  required: string[];
  items: Schema;
  enum: string[];
  anyOf: unknown[];
}

interface Media {
  schema: Record<string, unknown>;
}

interface Answer {
  description: string;
  content?: Record<string, Media>;
  headers: Record<string, unknown>;
}

interface Operation {
  [field: string]: unknown;
  operationId: string;
  parameters: { [field: string]: unknown; name: string; schema: Record<string, unknown> }[];
  requestBody: { required: boolean; content: Record<string, Media> };
  responses: Record<string, Answer>;
}

interface Document {
  [field: string]: unknown;
  info: Record<string, unknown>;
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    headers: Record<string, { schema: Record<string, unknown> }>;
    securitySchemes: Record<string, Record<string, unknown>>;
  };
}

type Edit = (document: Document) => void;

/** As it is. */
const unedited: Edit = () => undefined;

const RELEASED = readFileSync('openapi.released.json', 'utf8');
const TODAY = Temporal.PlainDate.from('2030-06-15');

/** More than the service has: what its features may come to have. */
const MORE = {
  WidgetDto: {
    type: 'object',
    required: ['colour'],
    properties: {
      colour: { type: 'string', enum: ['red', 'blue'] },
      size: { type: 'integer', minimum: 1, maximum: 10 },
      price: { type: 'number' },
      tags: { type: 'array', items: { type: 'string', maxLength: 10 } },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
      shape: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      owner: { description: 'Whose it is.', allOf: [{ $ref: '#/components/schemas/OwnerDto' }] },
      parent: { $ref: '#/components/schemas/WidgetDto' },
    },
  },
  OwnerDto: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};

function withWidgets(document: Document): void {
  const body = { content: { 'application/json': { schema: { $ref: '#/components/schemas/WidgetDto' } } } };
  const path = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
  const kinds = { name: 'kind', in: 'query', schema: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } } };
  const { parent: _parent, owner: _owner, ...properties } = MORE.WidgetDto.properties;
  const request = { ...MORE.WidgetDto, properties, additionalProperties: false };
  Object.assign(document.components.schemas, structuredClone(MORE), { CreateWidgetDto: structuredClone(request) });
  document.paths['/v1/widgets/{id}'] = {
    put: {
      operationId: 'changeWidget',
      parameters: [path, kinds],
      requestBody: {
        required: false,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/CreateWidgetDto' } } },
      },
      responses: {
        200: { description: 'The widget.', headers: { 'X-Colour': { required: true, schema: { type: 'string' } } }, ...body },
      },
      security: [],
    },
  };
}

/** The document with both, as released or as edited. */
function documentWith(...edits: Edit[]): Document {
  const document = JSON.parse(RELEASED) as Document;
  for (const edit of [withWidgets, ...edits]) edit(document);
  return document;
}

const breaking = (edit: Edit, before: Edit = unedited) =>
  compareDocuments({ before: documentWith(before), after: documentWith(before, edit) }, TODAY).map(
    ({ place, change }) => `${place}: ${change}`,
  );

/** What is there: an edit of nothing is a mistake in the test. */
function some<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new Error('There is nothing to edit.');
  return part;
}

const list = ({ paths }: Document) => some(paths['/v1/items']?.['get']);
const create = ({ paths }: Document) => some(paths['/v1/items']?.['post']);
const widget = ({ paths }: Document) => some(paths['/v1/widgets/{id}']?.['put']);
const parameter = (operation: Operation, name: string) => some(operation.parameters.find((one) => one.name === name));
const schema = ({ components }: Document, name: string) => some(components.schemas[name]);
const property = (document: Document, name: string, of: string) => some(schema(document, of).properties[name]);
const answer = (operation: Operation, status: string) => some(operation.responses[status]);
/** A reference that says less than its schema. */
const limited = (maxProperties: number) =>
  ({ maxProperties, allOf: [{ type: 'object', maxProperties: 5 }] }) as unknown as Schema;
const removeOperation: Edit = ({ paths }) => delete some(paths['/v1/items'])['post'];
const deprecate =
  (sunset?: string): Edit =>
  (document) => {
    Object.assign(create(document), { deprecated: true, ...(sunset !== undefined && { 'x-sunset': sunset }) });
  };

function rename<Value>(map: Record<string, Value>, from: string, to: string): void {
  map[to] = some(map[from]);
  delete map[from];
}

/** Name, edit, what is reported of it, and how the released document differs from today's. */
type Break = [name: string, edit: Edit, reported: string | string[], before?: Edit];

const body = 'POST /v1/items, request body, application/json';
const page = 'GET /v1/items, answer 200, application/json';
const created = 'POST /v1/items, answer 201, application/json';
const change = 'PUT /v1/widgets/{id}, request body, application/json';
const changed = 'PUT /v1/widgets/{id}, answer 200, application/json';

const breaks: Break[] = [
  ['an operation is removed', removeOperation, 'POST /v1/items: is gone'],
  [
    'a path is renamed',
    ({ paths }) => rename(paths, '/v1/items', '/v1/things'),
    ['GET /v1/items: is gone', 'POST /v1/items: is gone'],
  ],
  [
    'a path parameter is renamed',
    ({ paths }) => rename(paths, '/v1/widgets/{id}', '/v1/widgets/{key}'),
    'PUT /v1/widgets/{id}: is gone',
  ],
  ['a method is changed', ({ paths }) => rename(some(paths['/v1/items']), 'post', 'put'), 'POST /v1/items: is gone'],
  [
    'an operation id is renamed',
    (document) => (list(document).operationId = 'findItems'),
    'GET /v1/items: operationId "listItems" became "findItems"',
  ],
  ['a server is taken away', (document) => (document['servers'] = [{ url: '/api' }]), 'servers: {"url":"/"} is gone'],
  [
    'a required property is added to a request',
    (document) => {
      Object.assign(schema(document, 'CreateItemDto').properties, { colour: { type: 'string' } });
      schema(document, 'CreateItemDto').required.push('colour');
    },
    `${body}: required ["name"] became ["name","colour"]`,
  ],
  [
    'a property of a request becomes required',
    (document) => schema(document, 'CreateItemDto').required.push('description'),
    `${body}: required ["name"] became ["name","description"]`,
  ],
  [
    'a property of a request is removed',
    (document) => delete schema(document, 'CreateItemDto').properties['description'],
    `${body}: property description is gone`,
  ],
  ...(
    [
      ['maxLength', 100, '255 became 100'],
      ['minLength', 2, '1 became 2'],
      ['pattern', '^a$', String.raw`"^[^\\u0000]*[^\\u0000\\s][^\\u0000]*$" became "^a$"`],
      ['enum', ['a'], '["a"] is new'],
      ['const', 'a', '"a" is new'],
      ['format', 'email', '"email" is new'],
      ['type', 'integer', '"string" became "integer"'],
      ['default', 'Nameless', '"Nameless" is new'],
      ['not', { const: 'x' }, '{"const":"x"} is new'],
      ['anyOf', [{ minLength: 2 }], '[{"minLength":2}] is new'],
      ['allOf', [{ minLength: 2 }], '[{"minLength":2}] is new'],
      ['allOf', [{ title: 'a' }, { minLength: 2 }], '[{"title":"a"},{"minLength":2}] is new'],
    ] as const
  ).map(([keyword, value, told]): Break => [
    `${keyword} of a property of a request is tightened`,
    (document) => Object.assign(property(document, 'name', 'CreateItemDto'), { [keyword]: value }),
    `${body}: name: ${keyword} ${told}`,
  ]),
  [
    'null is no longer taken',
    (document) => (property(document, 'description', 'CreateItemDto')['type'] = 'string'),
    `${body}: description: type ["string","null"] became "string"`,
  ],
  [
    'a bound is set that was not there',
    (document) => (property(document, 'price', 'CreateWidgetDto')['maximum'] = 100),
    `${change}: price: maximum 100 is new`,
  ],
  [
    'a minimum is raised',
    (document) => (property(document, 'size', 'CreateWidgetDto')['minimum'] = 2),
    `${change}: size: minimum 1 became 2`,
  ],
  [
    'a number has to be a multiple of another',
    (document) => (property(document, 'size', 'CreateWidgetDto')['multipleOf'] = 2),
    `${change}: size: multipleOf 2 is new`,
  ],
  [
    'elements have to differ',
    (document) => (property(document, 'tags', 'CreateWidgetDto')['uniqueItems'] = true),
    `${change}: tags: uniqueItems true is new`,
  ],
  [
    'elements of an answer need not differ any more',
    (document) => delete property(document, 'tags', 'WidgetDto')['uniqueItems'],
    `${changed}: tags: uniqueItems true is gone`,
    (document) => (property(document, 'tags', 'WidgetDto')['uniqueItems'] = true),
  ],
  [
    'more is said beside a reference',
    (document) => Object.assign(property(document, 'owner', 'WidgetDto'), { minProperties: 2 }),
    `${change}: owner: minProperties 2 is new`,
    (document) =>
      Object.assign(schema(document, 'CreateWidgetDto').properties, { owner: property(document, 'owner', 'WidgetDto') }),
  ],
  [
    'something else limits beside a reference what it limits',
    (document) => (schema(document, 'CreateWidgetDto').properties['owner'] = limited(3)),
    [`${change}: owner: maxProperties 4 became 3`],
    (document) => (schema(document, 'CreateWidgetDto').properties['owner'] = limited(4)),
  ],
  [
    'a schema refers to itself, and says something beside it',
    (document) => schema(document, 'WidgetDto').required.pop(),
    [`${changed}: required ["colour"] became []`, `${changed}: parent: required ["colour"] became []`],
    (document) => Object.assign(property(document, 'parent', 'WidgetDto'), { description: 'What it belongs to.' }),
  ],
  [
    'what a path says of all its operations is changed',
    ({ paths }) => Object.assign(some(paths['/v1/items']), { parameters: [{ name: 'kind', in: 'query', required: true }] }),
    ['GET /v1/items: query parameter kind is required now', 'POST /v1/items: query parameter kind is required now'],
  ],
  [
    'a path is served elsewhere',
    ({ paths }) => Object.assign(some(paths['/v1/widgets/{id}']), { servers: [{ url: '/api' }] }),
    'PUT /v1/widgets/{id}: servers [{"url":"/api"}] is new',
  ],
  [
    'a number has to be an integer',
    (document) => (property(document, 'price', 'CreateWidgetDto')['type'] = 'integer'),
    `${change}: price: type "number" became "integer"`,
  ],
  [
    'a value is taken from an enumeration of a request',
    (document) => (property(document, 'colour', 'CreateWidgetDto').enum = ['red']),
    `${change}: colour: enum ["red","blue"] became ["red"]`,
  ],
  [
    'elements are tightened',
    (document) => (property(document, 'tags', 'CreateWidgetDto').items['maxLength'] = 5),
    `${change}: tags[]: maxLength 10 became 5`,
  ],
  [
    'values of a map are tightened',
    (document) => (property(document, 'labels', 'CreateWidgetDto')['additionalProperties'] = { type: 'integer' }),
    `${change}: labels.*: type "string" became "integer"`,
  ],
  [
    'an alternative is taken from a request',
    (document) => property(document, 'shape', 'CreateWidgetDto').anyOf.pop(),
    `${change}: shape: anyOf [{"type":"string"},{"type":"integer"}] became [{"type":"string"}]`,
  ],
  [
    'an alternative of a request is another one',
    (document) => (property(document, 'shape', 'CreateWidgetDto').anyOf[1] = { type: 'boolean' }),
    `${change}: shape (anyOf 2): type "integer" became "boolean"`,
  ],
  [
    'properties beyond those documented are refused',
    (document) => (schema(document, 'CreateWidgetDto')['additionalProperties'] = false),
    `${change}: additionalProperties false is new`,
    (document) => delete schema(document, 'CreateWidgetDto')['additionalProperties'],
  ],
  [
    'a request body becomes required',
    (document) => (widget(document).requestBody.required = true),
    'PUT /v1/widgets/{id}, request body: is required now',
  ],
  [
    'a media type of a request is removed',
    (document) => rename(create(document).requestBody.content, 'application/json', 'application/merge-patch+json'),
    'POST /v1/items, request body: application/json is gone',
  ],
  [
    'a parameter is removed',
    (document) => list(document).parameters.splice(1, 1),
    'GET /v1/items: query parameter cursor is gone',
  ],
  [
    'a parameter is renamed',
    (document) => (parameter(list(document), 'cursor').name = 'after'),
    'GET /v1/items: query parameter cursor is gone',
  ],
  [
    'a parameter is taken from elsewhere',
    (document) => (parameter(list(document), 'cursor')['in'] = 'header'),
    'GET /v1/items: query parameter cursor is gone',
  ],
  [
    'a request header is removed',
    (document) => (create(document).parameters = []),
    'POST /v1/items: header parameter idempotency-key is gone',
  ],
  [
    'a parameter becomes required',
    (document) => (parameter(list(document), 'filter')['required'] = true),
    'GET /v1/items: query parameter filter is required now',
  ],
  [
    'a required parameter is added',
    (document) => list(document).parameters.push({ name: 'kind', in: 'query', required: true, schema: { type: 'string' } }),
    'GET /v1/items: query parameter kind is required now',
  ],
  ...(
    [
      ['default', 10, '20 became 10'],
      ['maximum', 50, '100 became 50'],
      ['minimum', 2, '1 became 2'],
      ['type', 'string', '"integer" became "string"'],
    ] as const
  ).map(([keyword, value, told]): Break => [
    `${keyword} of a parameter is changed`,
    (document) => (parameter(list(document), 'limit').schema[keyword] = value),
    `GET /v1/items, query parameter limit: ${keyword} ${told}`,
  ]),
  [
    'the default of a parameter is removed',
    (document) => delete parameter(list(document), 'limit').schema['default'],
    'GET /v1/items, query parameter limit: default 20 is gone',
  ],
  [
    'a value is taken from an enumeration of a parameter',
    (document) => (parameter(widget(document), 'kind').schema['items'] = { type: 'string', enum: ['a'] }),
    'PUT /v1/widgets/{id}, query parameter kind: []: enum ["a","b"] became ["a"]',
  ],
  [
    'a parameter is written in another way',
    (document) => (parameter(widget(document), 'kind')['explode'] = false),
    'PUT /v1/widgets/{id}: query parameter kind has another explode: false is new',
  ],
  [
    'a required property of an answer is removed',
    (document) => {
      delete schema(document, 'ItemDto').properties['createdAt'];
      schema(document, 'ItemDto').required = ['id', 'name'];
    },
    [
      `${page}: items[]: property createdAt is gone`,
      `${page}: items[]: required ["id","name","createdAt"] became ["id","name"]`,
      `${created}: property createdAt is gone`,
      `${created}: required ["id","name","createdAt"] became ["id","name"]`,
    ],
  ],
  [
    'an optional property of an answer is removed',
    (document) => delete schema(document, 'ItemPage').properties['nextCursor'],
    `${page}: property nextCursor is gone`,
  ],
  [
    'a property of an answer is no longer required',
    (document) => (schema(document, 'ItemPage').required = []),
    `${page}: required ["items"] became []`,
  ],
  ...(
    [
      ['type', 'integer', '"string" became "integer"'],
      ['type', ['string', 'null'], '"string" became ["string","null"]'],
      ['maxLength', 1000, '512 became 1000'],
      ['format', 'byte', '"byte" is new'],
    ] as const
  ).map(([keyword, value, told]): Break => [
    `${keyword} of a property of an answer becomes ${JSON.stringify(value)}`,
    (document) => (property(document, 'nextCursor', 'ItemPage')[keyword] = value),
    `${page}: nextCursor: ${keyword} ${told}`,
  ]),
  [
    'a value is added to an enumeration of an answer',
    (document) => property(document, 'colour', 'WidgetDto').enum.push('green'),
    `${changed}: colour: enum ["red","blue"] became ["red","blue","green"]`,
  ],
  [
    'an enumeration of an answer is opened',
    (document) => delete (property(document, 'colour', 'WidgetDto') as Partial<Schema>).enum,
    `${changed}: colour: enum ["red","blue"] is gone`,
  ],
  [
    'an alternative is added to an answer',
    (document) => property(document, 'shape', 'WidgetDto').anyOf.push({ type: 'boolean' }),
    `${changed}: shape: anyOf [{"type":"string"},{"type":"integer"}] became [{"type":"string"},{"type":"integer"},{"type":"boolean"}]`,
  ],
  [
    'what an answer refers to loses a property',
    (document) => delete schema(document, 'OwnerDto').properties['name'],
    `${changed}: owner: property name is gone`,
  ],
  [
    'a property is added to an answer that was closed',
    (document) => Object.assign(schema(document, 'WidgetDto').properties, { weight: { type: 'integer' } }),
    `${changed}: property weight is new, where no other was to be expected`,
    (document) => (schema(document, 'WidgetDto')['additionalProperties'] = false),
  ],
  [
    'an answer has another schema',
    (document) => (some(answer(create(document), '201').content?.['application/json']).schema = { type: 'string' }),
    [
      `${created}: type "object" became "string"`,
      `${created}: property id is gone`,
      `${created}: property name is gone`,
      `${created}: property description is gone`,
      `${created}: property createdAt is gone`,
      `${created}: required ["id","name","createdAt"] is gone`,
    ],
  ],
  [
    'the status of success is changed',
    (document) => rename(create(document).responses, '201', '200'),
    'POST /v1/items, answer 201: is gone',
  ],
  [
    'the status of an error is changed',
    (document) => rename(create(document).responses, '422', '409'),
    'POST /v1/items, answer 422: is gone',
  ],
  [
    'a media type of an answer is changed',
    (document) => rename(some(answer(list(document), '200').content), 'application/json', 'application/hal+json'),
    'GET /v1/items, answer 200: application/json is gone',
  ],
  [
    'a body is removed',
    (document) => delete answer(create(document), '201').content,
    'POST /v1/items, answer 201: application/json is gone',
  ],
  [
    'a header of an answer is removed',
    (document) => delete answer(list(document), '429').headers['Retry-After'],
    'GET /v1/items, answer 429: header Retry-After is gone',
  ],
  [
    'a header of an answer may be missing',
    (document) => (answer(widget(document), '200').headers['X-Colour'] = { schema: { type: 'string' } }),
    'PUT /v1/widgets/{id}, answer 200: header X-Colour is no longer required',
  ],
  [
    'a header of an answer has another type',
    (document) => (answer(widget(document), '200').headers['X-Colour'] = { required: true, schema: { type: 'integer' } }),
    'PUT /v1/widgets/{id}, answer 200, header X-Colour: type "string" became "integer"',
  ],
  [
    'a public operation needs a token',
    (document) => delete widget(document)['security'],
    'PUT /v1/widgets/{id}: security [{}] became [{"token":[]}]',
  ],
  [
    'an operation needs another scope',
    (document) => (list(document)['security'] = [{ token: ['items:read', 'items:all'] }]),
    'GET /v1/items: security [{"token":["items:read"]}] became [{"token":["items:read","items:all"]}]',
    (document) => (list(document)['security'] = [{ token: ['items:read'] }]),
  ],
  [
    'an operation needs two credentials',
    (document) => (list(document)['security'] = [{ token: [], key: [] }]),
    'GET /v1/items: security [{"token":[]}] became [{"token":[],"key":[]}]',
  ],
  [
    'all operations need a token',
    (document) => (document['security'] = [{ token: [] }]),
    ['GET /v1/items: security [{}] became [{"token":[]}]', 'POST /v1/items: security [{}] became [{"token":[]}]'],
    (document) => delete document['security'],
  ],
  [
    'clients authenticate in another way',
    ({ components }) => (some(components.securitySchemes['token'])['scheme'] = 'basic'),
    'security scheme token: scheme "bearer" became "basic"',
  ],
  [
    'a deprecated operation is removed a day before its sunset',
    removeOperation,
    'POST /v1/items: is gone before its sunset, 2030-06-16',
    deprecate('2030-06-16'),
  ],
  ['a deprecated operation is removed that has no sunset', removeOperation, 'POST /v1/items: is gone', deprecate()],
  [
    'a deprecated operation is removed whose sunset is no day',
    removeOperation,
    'POST /v1/items: is gone',
    deprecate('2030-02-30'),
  ],
  [
    'an operation is removed whose sunset has passed, but which is not deprecated',
    removeOperation,
    'POST /v1/items: is gone',
    (document) => (create(document)['x-sunset'] = '2020-01-01'),
  ],
  [
    'a path is removed that is deprecated in part',
    ({ paths }) => delete paths['/v1/items'],
    'GET /v1/items: is gone',
    deprecate('2020-01-01'),
  ],
  [
    'a sunset is brought forward',
    deprecate('2031-01-01'),
    'POST /v1/items: x-sunset "2032-01-01" became "2031-01-01"',
    deprecate('2032-01-01'),
  ],
  [
    'a sunset is withdrawn, but not the deprecation',
    (document) => delete create(document)['x-sunset'],
    'POST /v1/items: x-sunset "2032-01-01" is gone',
    deprecate('2032-01-01'),
  ],
  [
    'a deprecated operation is changed',
    (document) => (property(document, 'name', 'CreateItemDto')['maxLength'] = 100),
    `${body}: name: maxLength 255 became 100`,
    deprecate('2020-01-01'),
  ],
];

/** Name, edit, and how the released document differs from today's. */
const additions: [name: string, edit: Edit, before?: Edit][] = [
  ['nothing', unedited],
  [
    'a new path',
    ({ paths }) => (paths['/v1/things'] = { get: { ...some(paths['/v1/items']?.['get']), operationId: 'listThings' } }),
  ],
  [
    'a new operation',
    ({ paths }) => (some(paths['/v1/items'])['delete'] = { ...some(paths['/v1/items']?.['get']), operationId: 'x' }),
  ],
  [
    'an optional property of a request',
    (document) => Object.assign(schema(document, 'CreateItemDto').properties, { colour: { type: 'string', default: 'red' } }),
  ],
  ['a property that need not be sent', (document) => (schema(document, 'CreateItemDto').required = [])],
  ['a longer text in a request', (document) => (property(document, 'name', 'CreateItemDto')['maxLength'] = 500)],
  ['no limit of a text in a request', (document) => delete property(document, 'name', 'CreateItemDto')['maxLength']],
  ['any text in a request', (document) => delete property(document, 'name', 'CreateItemDto')['pattern']],
  ['null in a request', (document) => (property(document, 'name', 'CreateItemDto')['type'] = ['null', 'string'])],
  ['a number for an integer in a request', (document) => (property(document, 'size', 'CreateWidgetDto')['type'] = 'number')],
  ['a value of an enumeration in a request', (document) => property(document, 'colour', 'CreateWidgetDto').enum.push('green')],
  ['an alternative in a request', (document) => property(document, 'shape', 'CreateWidgetDto').anyOf.push({ type: 'boolean' })],
  [
    'a media type of a request',
    (document) => Object.assign(create(document).requestBody.content, { 'text/csv': { schema: {} } }),
  ],
  ['a request body that need not be sent', (document) => (create(document).requestBody.required = false)],
  [
    'an optional parameter',
    (document) => list(document).parameters.push({ name: 'order', in: 'query', schema: { type: 'string', default: 'id' } }),
  ],
  [
    'a parameter that need not be sent',
    (document) => (parameter(list(document), 'limit')['required'] = false),
    (document) => (parameter(list(document), 'limit')['required'] = true),
  ],
  ['a higher maximum of a parameter', (document) => (parameter(list(document), 'limit').schema['maximum'] = 500)],
  ['parameters in another order', (document) => (list(document).parameters = list(document).parameters.toReversed())],
  ['a request header in another case', (document) => (some(create(document).parameters[0]).name = 'idempotency-key')],
  [
    'a property of an answer',
    (document) => Object.assign(schema(document, 'ItemDto').properties, { colour: { type: 'string' } }),
  ],
  ['a property that is always in an answer', (document) => schema(document, 'ItemPage').required.push('nextCursor')],
  ['a shorter text in an answer', (document) => (property(document, 'nextCursor', 'ItemPage')['maxLength'] = 100)],
  ['fewer values in an answer', (document) => (property(document, 'colour', 'WidgetDto').enum = ['red'])],
  ['fewer alternatives in an answer', (document) => property(document, 'shape', 'WidgetDto').anyOf.pop()],
  ['a default in an answer', (document) => (property(document, 'nextCursor', 'ItemPage')['default'] = '')],
  ['a status of an error', (document) => (list(document).responses['403'] = answer(list(document), '401'))],
  [
    'a media type of an answer',
    (document) => Object.assign(some(answer(list(document), '200').content), { 'text/csv': { schema: {} } }),
  ],
  ['a header of an answer', (document) => (answer(list(document), '200').headers['Link'] = { schema: { type: 'string' } })],
  [
    'a header of an answer in another case',
    (document) => rename(answer(list(document), '429').headers, 'Retry-After', 'retry-after'),
  ],
  ['the first scopes there are', (document) => (list(document)['security'] = [{ token: ['items:read'] }])],
  ['an operation without a token', (document) => (list(document)['security'] = [])],
  ['another way to authenticate', (document) => (list(document)['security'] = [{ token: [] }, { key: [] }])],
  ['the same security, said of the operation', (document) => (list(document)['security'] = [{ token: [] }])],
  ['another server', (document) => (document['servers'] = [{ url: '/api' }, { url: '/' }])],
  [
    'texts, examples, tags and extensions',
    (document) => {
      Object.assign(document.info, { title: 'Things', version: '1.1.0' });
      Object.assign(list(document), { summary: 'a', description: 'b', tags: ['c'], 'x-d': 'e' });
      Object.assign(parameter(list(document), 'filter'), { description: 'a', examples: {}, example: 'b' });
      Object.assign(property(document, 'name', 'ItemDto'), {
        title: 'a',
        description: 'b',
        example: 'c',
        examples: ['d'],
        'x-e': 'f',
      });
      answer(list(document), '200').description = 'a';
      Object.assign(some(document.components.securitySchemes['token']), { description: 'a', bearerFormat: 'b' });
    },
  ],
  [
    'other names of schemas',
    (document) => {
      rename(document.components.schemas, 'ItemDto', 'ThingDto');
      property(document, 'items', 'ItemPage').items = { $ref: '#/components/schemas/ThingDto' } as unknown as Schema;
      some(answer(create(document), '201').content?.['application/json']).schema = { ...schema(document, 'ThingDto') };
    },
  ],
  [
    'a reference without its wrapping',
    (document) => {
      schema(document, 'WidgetDto').properties['owner'] = { $ref: '#/components/schemas/OwnerDto' } as unknown as Schema;
    },
  ],
  ['a deprecation', deprecate()],
  ['a deprecation with its sunset', deprecate('2032-01-01')],
  ['a sunset that comes later', deprecate('2033-01-01'), deprecate('2032-01-01')],
  [
    'no deprecation any more',
    (document) => (delete create(document)['x-sunset'], delete create(document)['deprecated']),
    deprecate('2032-01-01'),
  ],
  [
    'deprecated parts',
    (document) => {
      property(document, 'name', 'ItemDto')['deprecated'] = true;
      parameter(list(document), 'cursor')['deprecated'] = true;
    },
  ],
  ['the removal of an operation on the day of its sunset', removeOperation, deprecate('2030-06-15')],
];

describe('a change to what was released breaks clients when', () => {
  it.each(breaks)('%s', (_name, edit, reported, before = unedited) => {
    expect(breaking(edit, before)).toEqual([reported].flat());
  });
});

describe('it breaks none when it brings', () => {
  it.each(additions)('%s', (_name, edit, before = unedited) => {
    expect(breaking(edit, before)).toEqual([]);
  });
});

it.each<[string, Edit, string[], Edit?]>([
  ['12 months ahead', deprecate('2031-06-15'), []],
  ['a day less', deprecate('2031-06-14'), ['POST /v1/items: its sunset is 2031-06-14, and must be 2031-06-15 or later.']],
  ['later than was announced', deprecate('2030-07-02'), [], deprecate('2030-07-01')],
  [
    'soon of what is new',
    ({ paths }) => (paths['/v1/things'] = { get: { ...create(documentWith(deprecate('2030-07-01'))) } }),
    [],
  ],
])('a release that announces a sunset %s is told so', (_name, edit, late, before = unedited) => {
  expect(lateNotices({ before: documentWith(before), after: documentWith(before, edit) }, TODAY)).toEqual(late);
});

it('refuses a document in which references lead nowhere', () => {
  expect(() => breaking((document) => delete document.components.schemas['ItemDto'])).toThrow(
    '#/components/schemas/ItemDto leads nowhere.',
  );
});

describe('the command', () => {
  /** Runs it as npm does. */
  const run = (script: string, ...files: string[]) =>
    new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile(process.execPath, [`api/${script}.ts`, ...files], (error, stdout, stderr) => {
        resolve({ code: error ? error.code : 0, stdout, stderr });
      });
    });

  let directory: string;
  let released: string;

  /** A file with a document. */
  async function write(name: string, document: unknown): Promise<string> {
    const file = join(directory, name);
    await writeFile(file, JSON.stringify(document));
    return file;
  }

  beforeAll(async () => {
    directory = await mkdtemp(join(testDirectory(), 'api-'));
    released = join(directory, 'released.json');
    await copyFile('openapi.released.json', released);
  });

  it('finds that this very API keeps what was released', async () => {
    expect(await run('check')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^All [1-9]\d* operations of openapi\.released\.json are kept in openapi\.json\.\n$/),
      stderr: '',
    });
  });

  it('ends with 1 at a change that breaks clients, and tells where it is, why it does, and what to do instead', async () => {
    const current = JSON.parse(RELEASED) as Document;
    delete schema(current, 'ItemDto').properties['description'];
    parameter(list(current), 'limit').schema['maximum'] = 50;
    const { code, stdout } = await run('check', released, await write('broken.json', current));
    expect(code).toBe(1);
    expect(stdout).toContain(`breaks in ${join(directory, 'broken.json')}:

GET /v1/items, query parameter limit: maximum 100 became 50
  Why:     Requests that clients send today are refused, or come to mean something else.
  Instead: Accept what was accepted. Add an optional property or parameter beside it, or another operation; or a new version of the path, and mark this one @Deprecated().

GET /v1/items, answer 200, application/json: items[]: property description is gone
`);
  });

  it('tells once what happens in many places', async () => {
    const current = JSON.parse(RELEASED) as Document;
    delete schema(current, 'RequestFault').properties['pointer'];
    const { stdout } = await run('check', released, await write('faults.json', current));
    expect(stdout.match(/pointer is gone/g)).toHaveLength(10);
    expect(stdout.match(/Why: /g)).toHaveLength(1);
  });

  it('fails on what is no document', async () => {
    for (const file of [join(directory, 'nothing.json'), await write('empty.json', {})]) {
      const { code, stderr } = await run('check', released, file);
      expect(code).not.toBe(0);
      expect(stderr).toContain(`${file} is no OpenAPI document`);
    }
  });

  it('releases what the API is now', async () => {
    const current = JSON.parse(RELEASED) as Document;
    deprecate('2999-01-01')(current);
    const [from, to] = [await write('current.json', current), await write('last.json', JSON.parse(RELEASED))];
    expect(await run('release', to, from)).toMatchObject({ code: 0 });
    expect(JSON.parse(await readFile(to, 'utf8'))).toEqual(current);
    // What was told in time is not told anew.
    expect(await run('release', to, from)).toMatchObject({ code: 0 });
  });

  it('releases no sunset that clients are told of too late', async () => {
    const current = JSON.parse(RELEASED) as Document;
    deprecate('2020-01-01')(current);
    const [from, to] = [await write('current.json', current), await write('last.json', JSON.parse(RELEASED))];
    const { code, stdout } = await run('release', to, from);
    expect(code).toBe(1);
    expect(stdout).toContain('POST /v1/items: its sunset is 2020-01-01, and must be ');
    expect(JSON.parse(await readFile(to, 'utf8'))).toEqual(JSON.parse(RELEASED));
  });
});
