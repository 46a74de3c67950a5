import { METHODS } from 'node:http';
import { Validator } from '@seriousme/openapi-schema-validator';
import * as fc from 'fast-check';
import { generateToken } from '../../../src/platform/auth/token-format.js';
import type { Document, Operation } from '../contract.js';
import { bodiesNear, bodiesOf, faultsOf, type JsonObject, textsNear, valuesNear, valuesOf } from './values.js';

interface Parameter {
  in: string;
  name: string;
  required: boolean;
  schema: JsonObject;
  examples?: Record<string, { value: string }>;
}

/** The state of a collection, which changes during the test. */
export interface Known {
  /** Its path, with values instead of parameters. */
  here: string;
  /** The values of the parameters of its path. */
  parents: Readonly<Record<string, string>>;
  /** `nextCursor`s of lists without a filter. */
  cursors: readonly string[];
  /** Rows that there are, by their ids. */
  created: ReadonlyMap<string, object>;
  deleted: ReadonlySet<string>;
  /** Of creates, most of the time, where it takes more than their schema says. */
  bodies: fc.Arbitrary<object> | undefined;
}

/** An operation as its document describes it, with every reference followed. */
export interface Described {
  method: string;
  path: string;
  /** The parameter of its path that is the id of a row, if it is about one. */
  rowId: string | undefined;
  /** All that its path has. */
  methods: readonly string[];
  operation: Operation;
  parameters: readonly Parameter[];
  body: JsonObject | undefined;
  successes: readonly number[];
  /** Requests that the document admits. */
  drafts: fc.Arbitrary<Draft>;
  known: Known;
}

/** A request before it is put into bytes. */
export interface Draft {
  parameters: readonly { in: string; name: string; value: string }[];
  json: unknown;
}

type Body = string | Uint8Array<ArrayBuffer> | undefined;

export interface FuzzRequest {
  method: string;
  /** Path and query, percent-encoded. */
  target: string;
  /** The row that it is about: its path, in lower case. */
  row?: string;
  /** Each may come several times. Latin-1, as bytes. */
  headers: readonly (readonly [name: string, value: string])[];
  body?: Body;
  /** Whether it is sent with its own credentials, or without any, instead of a good token. */
  hasOwnCredentials?: boolean;
}

/** A request, and the responses that are right. */
export interface Attempt {
  request: FuzzRequest;
  /** The operation that documents the response; undefined where no operation is called. */
  operation: Operation | undefined;
  statuses: readonly number[];
  /** The pointers and parameters that a 400 must name, all of them and no other. */
  locations?: readonly string[];
}

interface Resolved {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: JsonObject }> };
}

/** The operations of a collection and of its rows. */
export function describedOperations(document: Document, collection: string, known: Known): Described[] {
  const specification = structuredClone(document) as never;
  const resolved = new Validator().resolveRefs({ specification }) as unknown as {
    paths: Record<string, Record<string, Resolved>>;
  };
  const isOfCollection = (path: string) => path.startsWith(collection) && /^(?:\/[^/]+)?$/.test(path.slice(collection.length));
  const paths = Object.entries(document.paths).filter(([path]) => isOfCollection(path));
  return paths.flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const { parameters = [], requestBody } = resolved.paths[path]?.[method] ?? {};
      const body = requestBody?.content['application/json']?.schema;
      const statuses = Object.keys(operation.responses).map(Number);
      const successes = statuses.filter((status) => status < 300);
      const values = body ? bodiesOf(body) : fc.constant(undefined);
      const bodies = method === 'post' ? known.bodies : undefined;
      const drafts = draftsOf(parameters, bodies ? fc.oneof(bodies, bodies, bodies, values) : values, known);
      const rowId = /\{(\w+)\}$/.exec(path)?.[1];
      const methods = Object.keys(item).map((other) => other.toUpperCase());
      return { method: method.toUpperCase(), path, methods, operation, parameters, body, successes, drafts, known, rowId };
    }),
  );
}

function draftsOf(parameters: readonly Parameter[], values: fc.Arbitrary<unknown>, known: Known) {
  const entries = parameters.map((parameter) => {
    const { in: location, name, required } = parameter;
    const given = textsOf(parameter, known).map((value) => ({ in: location, name, value }));
    return required ? given : fc.option(given, { nil: undefined, freq: 2 });
  });
  return fc.tuple(fc.tuple(...entries), values).map(([sent, json]): Draft => {
    const given = sent.filter((entry) => entry !== undefined);
    // A cursor belongs to the filter that it came with, which was none.
    const isFiltered = given.some(({ name, value }) => name === 'filter' && value.trim() !== '');
    return { parameters: given.filter(({ name }) => !(isFiltered && name === 'cursor')), json };
  });
}

/** Texts that a parameter may be. */
function textsOf(parameter: Parameter, known: Known): fc.Arbitrary<string> {
  const { in: location, name, schema } = parameter;
  const { cursors, parents } = known;
  if (location === 'path') {
    return Object.hasOwn(parents, name) ? fc.constant(parents[name] ?? '') : idsOf(schema, known);
  }
  switch (name) {
    case 'cursor':
      return fc.nat().map((number) => cursors[number % cursors.length] ?? 'none');
    case 'filter':
      return filtersOf(examplesOf(parameter), Number(schema['maxLength']));
    case 'Idempotency-Key':
      // No two have the same by chance.
      return fc.noBias(fc.uuid());
    default:
      return valuesOf(schema).map(String);
  }
}

/** Mostly ids of existing rows, and some of deleted or unknown ones. */
function idsOf(schema: JsonObject, { created, deleted }: Known): fc.Arbitrary<string> {
  const rows = fc.constantFrom(created, created, created, created, deleted);
  const others = valuesOf(schema).map(String);
  const known = fc.tuple(fc.noBias(fc.nat()), rows, others, fc.nat(3)).map(([number, some, other, spelling]) => {
    const id = [...some.keys()][number % some.size] ?? other;
    return spelling === 0 && schema['format'] === 'uuid' ? id.toUpperCase() : id;
  });
  return fc.oneof(known, known, known, known, others);
}

/** The filters of the document, without the empty one. */
function examplesOf({ examples = {} }: Parameter): string[] {
  return Object.values(examples).flatMap(({ value }) => value || []);
}

/** Combinations of filters of the document with at most one search each, because four are allowed. */
function filtersOf(examples: readonly string[], maximum: number): fc.Arbitrary<string> {
  const filters = fc.constantFrom(...examples);
  const parts = fc.array(fc.tuple(fc.constantFrom('(', '!('), filters), { minLength: 1, maxLength: 3 });
  const joined = fc
    .tuple(parts, fc.constantFrom(' && ', ' || ', '\n&&\t'))
    .map(([some, operator]) => some.map(([start, filter]) => `${start}${filter})`).join(operator));
  return fc.oneof(
    fc.constant(''),
    filters,
    joined,
    filters.map((filter) => commented(filter, maximum)),
  );
}

/** A filter of an exact number of code points, filled with a comment of characters that are short in a URL. */
function commented(filter: string, length: number): string {
  const comment = `${filter} //${' é😀'.repeat(9)}`;
  return comment + 'x'.repeat(length - Array.from(comment).length);
}

/** Changes that make a filter invalid or unsupported. */
const WRONG_FILTERS = [
  ...'* && ~*)~* && "unterminated~* && nothingOfThatName == "x"~* && 1 + 1 == 2~* && "\0" == "\0"~* and true'.split('~'),
  ...'* ? true : false~*; DROP TABLE items~|| *~this.*~* *~[*][0]'.split('~'),
  `${'!('.repeat(17)}*${')'.repeat(17)}`,
  Array.from({ length: 33 }, () => '*').join('||'),
];

function wrongFilters(examples: readonly string[], maximum: number): fc.Arbitrary<string> {
  const filters = fc.constantFrom(...examples);
  return fc.oneof(
    fc.tuple(filters, fc.constantFrom(...WRONG_FILTERS)).map(([filter, form]) => form.replaceAll('*', () => filter)),
    fc.tuple(filters, fc.integer({ min: 1, max: 50 })).map(([filter, more]) => commented(filter, maximum + more)),
  );
}

/** Texts similar to cursors of a list without a filter. */
function cursorsNear(good: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(good, fc.nat(43), fc.constantFrom('A', '_', '=', '', 'é', ' '))
    .map(([cursor, at, other]) => cursor.slice(0, at) + other + cursor.slice(at + 1));
}

/** Texts that are no integer, as they stand in a URL. */
const NO_INTEGERS = ['', ' 5', '5 ', ...'abc 1.5 1.0 1e1 0x10 +5 05 1_0 1,2 [1] ٣ NaN Infinity true null'.split(' ')];

/** Of the 16 KiB that Node takes of a request before its body, most. */
const MAXIMUM_URL = 12_000;

/** Texts that a parameter may or may not be. */
function textsNearOf(parameter: Parameter, { known }: Described): fc.Arbitrary<{ text: string; isRight: boolean }> {
  const { in: location, name, schema } = parameter;
  const good = textsOf(parameter, known);
  if (name === 'filter') {
    return wrongFilters(examplesOf(parameter), Number(schema['maxLength'])).map((text) => ({ text, isRight: false }));
  }
  const isRight = (text: string) => {
    const isInteger = schema['type'] === 'integer' && /^(?:0|-?[1-9]\d*)$/.test(text);
    return name === 'cursor' ? known.cursors.includes(text) : faultsOf(schema, isInteger ? Number(text) : text).length === 0;
  };
  // Parsers take white space off around a header, and an empty path parameter would be another path.
  const isSent = (text: string) =>
    location === 'header'
      ? /^[\t -~\u0080-\u00ff]*$/.test(text) && text.trim() === text
      : text.isWellFormed() && (location === 'query' || text !== '') && encodeURIComponent(text).length < MAXIMUM_URL;
  const texts = fc.oneof(
    // An object may have a `toString` that is no function.
    valuesNear(schema).map((value) => (typeof value === 'string' ? value : JSON.stringify(value ?? null))),
    textsNear(schema),
    ...(schema['type'] === 'integer' ? [fc.constantFrom(...NO_INTEGERS)] : []),
    ...(name === 'cursor' ? [cursorsNear(good)] : []),
  );
  return texts.filter(isSent).map((text) => ({ text, isRight: isRight(text) }));
}

export function requestOf({ method, path, rowId, known }: Described, { parameters, json }: Draft, body?: Body): FuzzRequest {
  const sent = (location: string) =>
    parameters.filter((parameter) => parameter.in === location).map(({ name, value }) => [name, value] as const);
  const values = { ...known.parents, ...Object.fromEntries(sent('path')) };
  const target = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(values[name] ?? ''));
  const search = sent('query').map((pair) => pair.map(encodeURIComponent).join('='));
  return {
    method,
    target: search.length === 0 ? target : `${target}?${search.join('&')}`,
    ...(rowId !== undefined && { row: target.toLowerCase() }),
    headers: json === undefined ? sent('header') : [['Content-Type', 'application/json'], ...sent('header')],
    ...(json !== undefined && { body: body ?? JSON.stringify(json) }),
  };
}

/** A request that must succeed, or fail as the operation says for states that it may meet: nothing there, or a value taken. */
export function accepted(request: FuzzRequest, { operation, successes, known }: Described): Attempt {
  const conflicts = request.row !== undefined || !request.target.startsWith(known.here) ? [404, 409] : [409];
  const statuses = conflicts.filter((status) => Object.hasOwn(operation.responses, String(status)));
  return { request, operation, statuses: [...successes, ...statuses] };
}

function refused(request: FuzzRequest, { operation }: Described, ...locations: string[]): Attempt {
  return { request, operation, statuses: [400], locations };
}

/** A request with a body that its schema may or may not admit. */
function judged(request: FuzzRequest, operation: Described, json: unknown): Attempt {
  const pointers = new Set(faultsOf(operation.body ?? {}, json).map(({ pointer }) => pointer));
  return pointers.size === 0 ? accepted(request, operation) : refused(request, operation, ...pointers);
}

/** A draft with other values of a parameter. */
function withParameter(draft: Draft, { in: location, name }: Pick<Parameter, 'in' | 'name'>, ...values: string[]): Draft {
  // A cursor belongs to one filter.
  const others = draft.parameters.filter((other) => ![name, name === 'cursor' ? 'filter' : 'cursor'].includes(other.name));
  return { ...draft, parameters: [...others, ...values.map((value) => ({ in: location, name, value }))] };
}

/** Names that JavaScript or the platform gives a meaning, or that are nearly right. */
const TEMPTING =
  '__proto__ constructor prototype toString valueOf toJSON then hasOwnProperty length id createdAt Name na\u200bme / ~ a/b~c 0 ' +
  'after filtered access_token Limit limit[] filter[x] ids';
const tempting = fc.oneof(fc.constantFrom('', 'name ', 'limit ', ...TEMPTING.split(' ')), fc.string({ unit: 'grapheme' }));

/** Valid JSON in other spellings, and invalid JSON. */
const SPELLINGS: readonly ((json: string) => string)[] = [
  (json) => `\n\t ${JSON.stringify(JSON.parse(json), null, 2)}\r\n`,
  (json) => json.replaceAll(/[^\0-~]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  (json) => json.slice(0, -1),
  (json) => json.slice(1),
  (json) => json.replaceAll('"', "'"),
  ...['\ufeff*', '*}', '*,', '**', '//\n*', ")]}'\n*", '\0*'].map((form) => (json: string) => form.replaceAll('*', () => json)),
  ...['NaN', '01', '"\n"', '1,'].map((value) => (json: string) => json.replace('{', () => `{"x":${value},`)),
];

const depths = fc.integer({ min: 1, max: 5000 });
const numbers = ['1e999', '-1e999', '9'.repeat(5000), `0.${'0'.repeat(5000)}1`, '-0', '1E-400'];
const NO_OBJECTS = 'null true "" [] [{"name":"x"}] NaN <a/> name=x {}{} {"name":["x"]} {"name":"\\u0000"} {"name":{"$gt":""}}';

/** Bytes, arbitrary and large JSON, and values that JavaScript may confuse with others. */
const bodies: fc.Arbitrary<Body> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.json({ stringUnit: 'binary' }),
  fc.string({ unit: 'binary' }),
  fc.tuple(depths, fc.constantFrom('[', '{"a":', '[{"a":')).map(([depth, opening]) => opening.repeat(depth)),
  depths.map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`),
  depths.map((depth) => `${'{"name":'.repeat(depth)}1${'}'.repeat(depth)}`),
  fc.constantFrom(...numbers).map((number) => `{"name":"x","price":${number},"limit":${number}}`),
  fc.constantFrom('__proto__', 'constructor').map((name) => `{"name":"x","${name}":{"name":"y","isAdmin":true}}`),
  fc.constantFrom('', ' ', '\0', '\ufeff', ...NO_OBJECTS.split(' ')),
);

const SAME_MEDIA_TYPE = 'application/json; charset=utf-8|application/json;charset="UTF-8"|Application/JSON; version=1'.split('|');
const OTHER_MEDIA_TYPES = (
  '|multipart/form-data; boundary=x|application/json, application/json|application/json; charset=latin1|text/plain|text/json|*/*|' +
  'application/json; charset=utf-16|application/x-www-form-urlencoded|application/json-patch+json|application/problem+json'
).split('|');
const OTHER_CODINGS = ['gzip', 'deflate', 'br', 'identity, gzip', 'x'];

const FIELDS =
  'Accept Accept-Charset Accept-Encoding Cookie Forwarded If-Match If-Modified-Since Max-Forwards Origin Range Referer Via ' +
  "X-Forwarded-For X-HTTP-Method-Override X-Original-URL X-Request-Id X!#$%&'*+-.^_`|~ traceparent tracestate baggage __proto__";

function textsFrom(characters: string, lengths: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...Array.from(characters)), ...lengths });
}

type Attempts = fc.Arbitrary<Attempt>;

function admitted(operation: Described): Attempts[] {
  return [operation.drafts.map((draft) => accepted(requestOf(operation, draft), operation))];
}

function parameterValues(operation: Described): Attempts[] {
  return operation.parameters.map((parameter) =>
    fc.tuple(operation.drafts, textsNearOf(parameter, operation)).map(([draft, { text, isRight }]) => {
      const request = requestOf(operation, withParameter(draft, parameter, text));
      return isRight ? accepted(request, operation) : refused(request, operation, parameter.name);
    }),
  );
}

function otherParameters(operation: Described): Attempts[] {
  const { parameters, drafts, known } = operation;
  const sent = parameters.filter((parameter) => parameter.in !== 'path');
  const names = tempting.filter((name) => !parameters.some((parameter) => parameter.name === name));
  const unknown = names.map((name) => ({ in: 'query', name }));
  const changes = [
    fc.tuple(unknown, fc.tuple(fc.string({ unit: 'grapheme' }))),
    ...sent.map((parameter) => {
      const texts = textsOf(parameter, known);
      return fc.tuple(fc.constant(parameter), fc.tuple(texts, texts));
    }),
    ...sent.filter(({ required }) => required).map((parameter) => fc.tuple(fc.constant(parameter), fc.constant([]))),
  ];
  return changes.map((change) =>
    fc
      .tuple(drafts, change)
      .map(([draft, [parameter, values]]) =>
        refused(requestOf(operation, withParameter(draft, parameter, ...values)), operation, parameter.name),
      ),
  );
}

function bodyValues(operation: Described): Attempts[] {
  const { drafts, body } = operation;
  if (!body) return [];
  const values = fc.tuple(drafts, bodiesNear(body, tempting));
  return [values.map(([draft, json]) => judged(requestOf(operation, { ...draft, json }), operation, json))];
}

function bodyBytes(operation: Described): Attempts[] {
  if (!operation.body) return [];
  const withBody = (draft: Draft, body: Body): Attempt => {
    const request = { ...requestOf(operation, draft), body };
    try {
      const json: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(body ?? '')));
      // A body that is nested too deeply is rejected as a whole, without a position.
      const { locations: _locations, ...attempt } = judged(request, operation, json);
      return attempt;
    } catch {
      return refused(request, operation, '');
    }
  };
  const spelt = fc
    .tuple(operation.drafts, fc.constantFrom(...SPELLINGS))
    .map(([draft, spell]) => withBody(draft, spell(JSON.stringify(draft.json))));
  // Bytes that are no UTF-8 instead of the last ones, and no bytes at all.
  const cut = operation.drafts.chain((draft) => {
    const wrong = Uint8Array.from([...Buffer.from(JSON.stringify(draft.json)).subarray(0, -1), 0xc3, 0x7d]);
    const without = requestOf(operation, { ...draft, json: undefined });
    return fc.constantFrom(withBody(draft, wrong), withBody(draft, undefined), refused(without, operation, ''));
  });
  return [spelt, cut, fc.tuple(operation.drafts, bodies).map(([draft, body]) => withBody(draft, body))];
}

function bodyHeaders(operation: Described): Attempts[] {
  const { drafts, body, operation: documented } = operation;
  if (!body) return [];
  const sentWith = (name: string, values: string[], judge: typeof accepted | typeof refused) =>
    fc.tuple(drafts, fc.constantFrom(...values)).map(([draft, value]) => {
      const request = requestOf(operation, draft);
      const others = request.headers.filter(([other]) => other !== name);
      return judge({ ...request, headers: [...others, [name, value]] }, operation, '');
    });
  const [, maximum = Number.NaN] = /at most (\d+) bytes/.exec(JSON.stringify(documented.responses['413'])) ?? [];
  // As many bytes as the response 413 of the document says, and more.
  const sized = fc.tuple(drafts, fc.constantFrom(0, 1, 2, 1000, 70_000)).map(([draft, more]): Attempt => {
    const json = JSON.stringify(draft.json);
    const padded = requestOf(operation, draft, json + ' '.repeat(Number(maximum) + more - Buffer.byteLength(json)));
    return more === 0 ? accepted(padded, operation) : { request: padded, operation: documented, statuses: [413] };
  });
  return [
    sentWith('Content-Type', SAME_MEDIA_TYPE, accepted),
    sentWith('Content-Type', OTHER_MEDIA_TYPES, refused),
    sentWith('Content-Encoding', OTHER_CODINGS, refused),
    sized,
  ];
}

/** Headers that the document does not have: they change nothing. */
function otherHeaders(operation: Described): Attempts[] {
  const codes = fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f);
  const value = fc.string({ unit: codes.map((code) => String.fromCharCode(code)), maxLength: 200 });
  const fields = fc.array(fc.tuple(fc.constantFrom(...FIELDS.split(' ')), value), { minLength: 1, maxLength: 8 });
  return [
    fc.tuple(operation.drafts, fields).map(([draft, added]) => {
      const request = requestOf(operation, draft);
      return accepted({ ...request, headers: [...request.headers, ...added] }, operation);
    }),
  ];
}

/** Anything after the question mark. Some of it happens to be right. */
function otherQueries(operation: Described): Attempts[] {
  const { parameters, drafts, body } = operation;
  const known = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => fc.constant(name));
  const text = fc.oneof(fc.string({ unit: 'binary' }).map(encodeURIComponent), textsFrom('%&=+;[]{}a0f!()"\'<>|'));
  const pairs = fc.array(fc.tuple(fc.oneof(text, ...known), text), { minLength: 1, maxLength: 4 });
  return [
    fc.tuple(drafts, pairs).map(([draft, some]): Attempt => {
      const request = requestOf(operation, draft);
      const search = some.map((pair) => pair.join('=')).join('&');
      const other = { ...request, target: `${request.target.replace(/\?.*/, '')}?${search}` };
      const statuses = body ? [400] : [400, ...accepted(other, operation).statuses];
      return { request: other, operation: operation.operation, statuses };
    }),
  ];
}

function otherMethods({ path, methods }: Described): Attempts[] {
  // HEAD goes with GET, and CONNECT is for proxies.
  const others = METHODS.filter((method) => ![...methods, 'HEAD', 'CONNECT'].includes(method));
  const target = path.replaceAll(/\{\w+\}/g, 'x');
  return [
    fc.tuple(fc.constantFrom(...others), bodies).map(([method, body]) => ({
      request: { method, target, headers: [['Content-Type', 'application/json']], body },
      operation: undefined,
      statuses: [405],
    })),
  ];
}

function otherPaths({ path }: Described): Attempts[] {
  const encoded = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).map(encodeURIComponent);
  const segment = fc.string({ unit: fc.oneof(encoded, fc.constantFrom(...Array.from('az09-._~!$&\'()*+,;=:@%|^`{}"<>[]\\'))) });
  const near = segment.chain((text) =>
    fc.constantFrom(
      ...['*/', '/*', `*/${text}/${text}`, `*${text}x`, `*;${text}`, '*%00', '/v1/..*', '*/../..*'].map((form) =>
        form.replaceAll('*', () => path),
      ),
      path.toUpperCase(),
      path.replace('v1', 'v2'),
      path.replace('/v1', ''),
      path.replace(/.$/, (last) => `%${last.charCodeAt(0).toString(16)}`),
    ),
  );
  const far = fc.array(segment, { maxLength: 5 }).map((segments) => `/x${segments.map((text) => `/${text}`).join('')}`);
  const targets = path.includes('{') ? far : fc.oneof(near, far);
  return [
    fc.tuple(targets, fc.constantFrom('GET', 'POST', 'DELETE')).map(([target, method]) => ({
      request: { method, target, headers: [] },
      operation: undefined,
      statuses: [404],
    })),
  ];
}

/** The attempts for every operation, with their share of all requests. */
export const ATTEMPTS = [
  ['what its document admits', 0.15, admitted],
  ['values of parameters', 0.15, parameterValues],
  ['parameters that are left out, unknown or given twice', 0.1, otherParameters],
  ['values of bodies', 0.2, bodyValues],
  ['bytes of bodies', 0.1, bodyBytes],
  ['headers and sizes of bodies', 0.05, bodyHeaders],
  ['headers that it does not document', 0.05, otherHeaders],
  ['anything after the question mark', 0.05, otherQueries],
  ['other methods', 0.02, otherMethods],
  ['other paths', 0.03, otherPaths],
] as const;

/** The same requests with credentials that are refused before any other error. */
export function unauthorized(attempts: Attempts, good: string, tokens: readonly string[]): Attempts {
  // The suite of authentication has every form of credentials; here they come with requests that are wrong otherwise.
  const ways = fc.oneof(
    fc.constantFrom([], [''], [good], [`Bearer ${good} ${good}`], [`Bearer ${good}`, `Bearer ${good}`]),
    fc.constantFrom(...tokens, generateToken()).map((token) => [`Bearer ${token}`]),
    textsFrom('abcXYZ019._~+/-=:, "\\\u00e9', { maxLength: 60 }).map((text) => [`Bearer ${text}`]),
  );
  return fc.tuple(attempts, ways, fc.boolean()).map(([{ request, operation }, credentials, isInQuery]) => {
    const { target } = request;
    const withToken = `${target}${target.includes('?') ? '&' : '?'}access_token=${good}`;
    const sent = withAuthorization({ ...request, target: isInQuery ? withToken : target }, credentials);
    return { request: sent, operation, statuses: [401] };
  });
}

/** The same with a token that may do other things: refused wherever there is an operation. */
export function forbidden(attempts: Attempts, token: string): Attempts {
  return attempts.map(({ request, ...others }) => ({
    ...others,
    request: withAuthorization(request, [`Bearer ${token}`]),
    ...(others.operation && { statuses: [403] }),
  }));
}

function withAuthorization(request: FuzzRequest, values: readonly string[]): FuzzRequest {
  const fields = values.map((value) => ['Authorization', value] as const);
  return { ...request, headers: [...request.headers, ...fields], hasOwnCredentials: true };
}
