import { METHODS } from 'node:http';
import { Validator } from '@seriousme/openapi-schema-validator';
import * as fc from 'fast-check';
import { generateToken } from '../../../src/platform/auth/token-format.js';
import { type Document, isJson, type Media, type Operation } from '../contract.js';
import { type Body, type BodyMedia, bodyMediaOf, contentTypeOf, encode, isOpen, valuesIn } from './bodies.js';
import { bodiesNear, faultsOf, type JsonObject, textsNear, valuesNear, valuesOf } from './values.js';

const JSON_TYPE = 'application/json';

interface Parameter {
  in: string;
  name: string;
  required: boolean;
  schema: JsonObject;
  examples?: Record<string, { value: string }>;
}

/** The state of a collection, which changes during the test. */
export interface Known {
  token: string;
  /** The values of the parameters of its path. */
  parents: Readonly<Record<string, string>>;
  /** `nextCursor`s of lists without a filter. */
  cursors: readonly string[];
  /** Rows that there are, by their ids. */
  created: ReadonlyMap<string, object>;
  /** Of creates, most of the time, where it takes more than their schema says. */
  bodies: fc.Arbitrary<object> | undefined;
}

/** An operation as its document describes it, with every reference followed. */
export interface Described {
  method: string;
  path: string;
  /** Whether its path is that of the collection and more. */
  isBelow: boolean;
  /** The parameter of its path that is the id of a row, if it is about one. */
  rowId: string | undefined;
  /** All that its path has, also as that of a row. */
  methods: readonly string[];
  operation: Operation;
  parameters: readonly Parameter[];
  /** The schema of a body in JSON. */
  body: JsonObject | undefined;
  /** How it takes a body. */
  media: BodyMedia | undefined;
  successes: readonly number[];
  /** Requests that the document admits. */
  drafts: fc.Arbitrary<Draft>;
  known: Known;
}

/** A request before it is put into bytes. */
export interface Draft {
  parameters: readonly { in: string; name: string; value: string }[];
  /** The body before its media type gives it a form. */
  json: unknown;
}

export interface FuzzRequest {
  method: string;
  /** Path and query, percent-encoded. */
  target: string;
  /** Each may come several times. Latin-1, as bytes. */
  headers: readonly (readonly [name: string, value: string])[];
  body?: Body;
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
  requestBody?: { content: Record<string, Media & { schema: JsonObject }> };
}

/** The operations of a collection and of its rows. */
export function describedOperations(document: Document, collection: string, known: Known): Described[] {
  const specification = structuredClone(document) as never;
  const resolved = new Validator().resolveRefs({ specification }) as unknown as {
    paths: Record<string, Record<string, Resolved>>;
  };
  const isOfCollection = (path: string) =>
    path.startsWith(collection) && /^(?:\/[^/]+)?$/.test(path.slice(collection.length));
  const paths = Object.entries(document.paths).filter(([path]) => isOfCollection(path));
  return paths.flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => {
      const { parameters = [], requestBody } = resolved.paths[path]?.[method] ?? {};
      const media = bodyMediaOf(requestBody?.content ?? {});
      const body = media && isJson(media.type) ? media.schema : undefined;
      const statuses = Object.keys(operation.responses).map(Number);
      const successes = statuses.filter((status) => status < 300);
      const values = media ? valuesIn(media) : fc.constant(undefined);
      const bodies = method === 'post' && path === collection ? known.bodies : undefined;
      const drafts = draftsOf(parameters, bodies ? fc.oneof(bodies, bodies, bodies, values) : values, known);
      const isBelow = path !== collection;
      const rowId = /\{(\w+)\}$/.exec(path)?.[1];
      const also = paths.filter(([other]) => isAlso(path, other)).flatMap(([, other]) => Object.keys(other));
      const methods = also.map((name) => name.toUpperCase());
      const request = { method: method.toUpperCase(), path, methods, isBelow, rowId, parameters, body, media };
      return Object.assign(request, { operation, successes, drafts, known });
    }),
  );
}

/** Whether a path is also one of a template. */
function isAlso(path: string, template: string): boolean {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
}

function draftsOf(parameters: readonly Parameter[], values: fc.Arbitrary<unknown>, known: Known): fc.Arbitrary<Draft> {
  const entries = parameters.map((parameter) => {
    const { in: location, name, required } = parameter;
    const given = textsOf(parameter, known).map((value) => ({ in: location, name, value }));
    return required ? given : fc.option(given, { nil: undefined, freq: 2 });
  });
  return fc.tuple(fc.tuple(...entries), values).map(([sent, json]) => {
    const given = sent.filter((entry) => entry !== undefined);
    // A cursor belongs to the filter that it came with, which was none.
    const isFiltered = given.some(({ name, value }) => name === 'filter' && value !== '');
    return { parameters: given.filter(({ name }) => !(isFiltered && name === 'cursor')), json };
  });
}

/** Texts that a parameter may be. */
function textsOf({ in: location, name, schema, examples = {} }: Parameter, known: Known): fc.Arbitrary<string> {
  const { created, cursors, parents } = known;
  const values = valuesOf(schema).map(String);
  if (location === 'path') {
    const parent = parents[name];
    if (parent !== undefined) return fc.constant(parent);
    // Mostly ids of existing rows, as they are and in capitals.
    const existing = fc.tuple(fc.noBias(fc.nat()), fc.boolean(), values).map(([number, isUpper, other]) => {
      const id = [...created.keys()][number % created.size] ?? other;
      return isUpper && schema['format'] === 'uuid' ? id.toUpperCase() : id;
    });
    return fc.oneof(existing, existing, existing, values);
  }
  switch (name) {
    case 'cursor':
      return fc.nat().map((number) => cursors[number % cursors.length] ?? 'none');
    case 'filter':
      return fc.constantFrom(...Object.values(examples).map(({ value }) => value));
    case 'Idempotency-Key':
      // No two have the same by chance.
      return fc.noBias(fc.uuid());
    case 'If-Match':
    case 'If-None-Match':
      // Given twice, they are no list.
      return fc.constant('*');
    default:
      return values;
  }
}

/** Of the 16 KiB that Node takes of a request before its body, most. */
const MAXIMUM_URL = 12_000;

/** Texts that a parameter may or may not be. */
function textsNearOf({ in: location, name, schema }: Parameter, { known }: Described) {
  const isRight = (text: string) => {
    const isInteger = schema['type'] === 'integer' && /^(?:0|-?[1-9]\d*)$/.test(text);
    return name === 'cursor' ? known.cursors.includes(text) : faultsOf(schema, isInteger ? Number(text) : text).length === 0;
  };
  // Parsers take white space off around a header, and an empty path parameter would be another path.
  const isSent = (text: string) =>
    location === 'header'
      ? /^[\t -~\u0080-\u00ff]*$/.test(text) && text.trim() === text
      : text.isWellFormed() && (location === 'query' || text !== '') && encodeURIComponent(text).length < MAXIMUM_URL;
  // An object may have a `toString` that is no function.
  const values = valuesNear(schema).map((value) => (typeof value === 'string' ? value : JSON.stringify(value ?? null)));
  const texts = fc.oneof(values, textsNear(schema)).filter(isSent);
  return texts.map((text) => ({ text, isRight: isRight(text) }));
}

export function requestOf({ method, path, known, media }: Described, { parameters, json }: Draft): FuzzRequest {
  const sent = (location: string) =>
    parameters.filter((parameter) => parameter.in === location).map(({ name, value }) => [name, value] as const);
  const values = { ...known.parents, ...Object.fromEntries(sent('path')) };
  const target = path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(values[name] ?? ''));
  const search = sent('query').map((pair) => pair.map(encodeURIComponent).join('='));
  const request = {
    method,
    target: search.length === 0 ? target : `${target}?${search.join('&')}`,
    headers: [['Authorization', `Bearer ${known.token}`] as const, ...sent('header')],
  };
  return json === undefined || !media ? request : withBody(request, media.type, encode(media, json));
}

function withBody(request: FuzzRequest, type: string, body: Body): FuzzRequest {
  return { ...request, headers: [...request.headers, ['Content-Type', contentTypeOf(type)]], body };
}

/**
 * A request that must succeed, or fail as the operation says for states that it may meet: nothing there, a value taken, or another version. A
 * document cannot say which texts and files a handler takes.
 */
export function accepted(request: FuzzRequest, { operation, successes, media }: Described): Attempt {
  const conflicts = [304, 404, 409, 412].filter((status) => Object.hasOwn(operation.responses, String(status)));
  return { request, operation, statuses: [...successes, ...conflicts, ...(media && isOpen(media) ? [400] : [])] };
}

function refused(request: FuzzRequest, { operation, parameters }: Described, ...locations: string[]): Attempt {
  // A handler checks its headers itself, because Nest runs no pipes for them.
  const isOfHandler = parameters.some(({ name, in: where }) => isOwnHeader(name, where) && locations.includes(name));
  return { request, operation, statuses: [400], ...(!isOfHandler && { locations }) };
}

const PLATFORM_HEADERS: ReadonlySet<string> = new Set(['Idempotency-Key', 'If-Match', 'If-None-Match']);

/** Whether a parameter is a header of the handler, not of the platform. */
function isOwnHeader(name: string, location: string): boolean {
  return location === 'header' && !PLATFORM_HEADERS.has(name);
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
  '__proto__ constructor toString toJSON then length id createdAt Name / ~ a/b~c 0 after access_token limit[] ids';
const tempting = fc.oneof(fc.constantFrom('', 'name ', ...TEMPTING.split(' ')), fc.string({ unit: 'grapheme' }));

/** Valid JSON in other spellings, and invalid JSON. */
const SPELLINGS: readonly ((json: string) => string)[] = [
  (json) => `\n\t ${JSON.stringify(JSON.parse(json), null, 2)}\r\n`,
  (json) => json.replaceAll(/[^\0-~]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  (json) => json.slice(0, -1),
  ...['\ufeff*', '*}', '**', '//\n*', '\0*'].map((form) => (json: string) => form.replaceAll('*', () => json)),
];

/** Bytes, arbitrary and deep JSON, and values that JavaScript may confuse with others. */
const bodies: fc.Arbitrary<Body> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.json({ stringUnit: 'binary' }),
  fc
    .tuple(fc.integer({ min: 1, max: 5000 }), fc.constantFrom('[', '{"name":'))
    .map(([depth, opening]) => `${opening.repeat(depth)}1${(opening === '[' ? ']' : '}').repeat(depth)}`),
  fc.constantFrom('1e999', '-1e999', '9'.repeat(5000), '-0').map((number) => `{"name":"x","price":${number}}`),
  fc.constantFrom('__proto__', 'constructor').map((name) => `{"name":"x","${name}":{"name":"y"}}`),
  fc.constantFrom('', ' ', ...'null true "" [] [{"name":"x"}] NaN name=x {"name":{"$gt":""}}'.split(' ')),
);

type Attempts = fc.Arbitrary<Attempt>;

function admitted(operation: Described): Attempts[] {
  return [operation.drafts.map((draft) => accepted(requestOf(operation, draft), operation))];
}

function parameterValues(operation: Described): Attempts[] {
  // Wrong filters are in filter.e2e-spec.ts and filter-oracle.e2e-spec.ts.
  const parameters = operation.parameters.filter(({ name }) => name !== 'filter');
  return parameters.map((parameter) =>
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
  const changes = [
    fc.tuple(
      names.map((name) => ({ in: 'query', name })),
      fc.constant(['x']),
    ),
    // Two headers are one with a comma.
    ...sent
      .filter((parameter) => !isOwnHeader(parameter.name, parameter.in))
      .map((parameter) => {
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
  const { drafts, body, media, operation: documented } = operation;
  const [, maximum = Number.NaN] = /at most (\d+) bytes/.exec(JSON.stringify(documented.responses['413'])) ?? [];
  if (!body) return media ? otherBytes(operation, media, Number(maximum)) : [];
  const attemptWith = (draft: Draft, bytes: Body): Attempt => {
    const request = withBody(requestOf(operation, { ...draft, json: undefined }), JSON_TYPE, bytes);
    try {
      const json: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(bytes ?? '')));
      // A body that is nested too deeply is rejected as a whole, without a position.
      const { locations: _locations, ...attempt } = judged(request, operation, json);
      return attempt;
    } catch {
      return refused(request, operation, '');
    }
  };
  const spelt = fc
    .tuple(drafts, fc.constantFrom(...SPELLINGS))
    .map(([draft, spell]) => attemptWith(draft, spell(JSON.stringify(draft.json))));
  // As many bytes as the response 413 of the document says, and more.
  const sized = fc.tuple(drafts, fc.constantFrom(0, 1, 70_000)).map(([draft, more]): Attempt => {
    const json = JSON.stringify(draft.json);
    const bytes = json + ' '.repeat(Number(maximum) + more - Buffer.byteLength(json));
    const attempt = attemptWith(draft, bytes);
    return more === 0 ? attempt : { request: attempt.request, operation: documented, statuses: [413] };
  });
  return [spelt, sized, fc.tuple(drafts, bodies).map(([draft, bytes]) => attemptWith(draft, bytes))];
}

/** Of a body that is not JSON: too large, and of another media type. */
function otherBytes(operation: Described, { type }: BodyMedia, maximum: number): Attempts[] {
  return [
    operation.drafts.map((draft): Attempt => {
      const request = requestOf(operation, { ...draft, json: undefined });
      const tooLarge = withBody(request, type, new Uint8Array(maximum + 1).fill(0x61));
      return { request: tooLarge, operation: operation.operation, statuses: [413] };
    }),
    ...(type === '*/*' ? [] : [operation.drafts]).map((drafts) =>
      drafts.map((draft) => {
        const request = requestOf(operation, { ...draft, json: undefined });
        return refused(withBody(request, 'application/x-other', 'x'), operation, '');
      }),
    ),
  ];
}

const FIELDS =
  'Accept Accept-Encoding Cookie Forwarded If-Match If-Modified-Since Origin Range Referer Via X-Forwarded-For ' +
  'X-HTTP-Method-Override X-Original-URL X-Request-Id traceparent tracestate baggage __proto__';

/** Headers that the document does not have: they change nothing. */
function otherHeaders(operation: Described): Attempts[] {
  const codes = fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f);
  const value = fc.string({ unit: codes.map((code) => String.fromCharCode(code)), maxLength: 200 });
  const names = FIELDS.split(' ').filter((name) => !operation.parameters.some((parameter) => parameter.name === name));
  const fields = fc.array(fc.tuple(fc.constantFrom(...names), value), { minLength: 1, maxLength: 8 });
  return [
    fc.tuple(operation.drafts, fields).map(([draft, added]) => {
      const request = requestOf(operation, draft);
      return accepted({ ...request, headers: [...request.headers, ...added] }, operation);
    }),
  ];
}

const segments = fc.string({
  unit: fc.constantFrom(...Array.from('a0._~!$&\'()*+,;=:@%|^`{}"<>[]\\'), '%00', '%ff', '%2f'),
});

/** Anything after the question mark. Some of it happens to be right. */
function otherQueries(operation: Described): Attempts[] {
  return [
    fc.tuple(operation.drafts, segments, segments).map(([draft, name, value]) => {
      const request = requestOf(operation, draft);
      const other = { ...request, target: `${request.target.replace(/\?.*/, '')}?${name}=${value}` };
      const statuses = operation.media ? [400] : [400, ...accepted(other, operation).statuses];
      return { request: other, operation: operation.operation, statuses };
    }),
  ];
}

/** Methods that a path does not have, and paths that nothing has. */
function otherRoutes({ path, methods, isBelow, known }: Described): Attempts[] {
  const attempt = (method: string, target: string, status: number): Attempt => {
    const headers = [['Authorization', `Bearer ${known.token}`]] as const;
    return { request: { method, target, headers }, operation: undefined, statuses: [status] };
  };
  // HEAD goes with GET, and CONNECT is for proxies.
  const others = METHODS.filter((method) => ![...methods, 'HEAD', 'CONNECT'].includes(method));
  const here = path.replaceAll(/\{\w+\}/g, 'x');
  const paths = segments.map((text) => (path.includes('{') || isBelow ? `/x/${text}` : `${path};${text}`));
  return [
    fc.constantFrom(...others).map((method) => attempt(method, here, 405)),
    fc.tuple(fc.constantFrom('GET', 'POST', 'DELETE'), paths).map(([method, target]) => attempt(method, target, 404)),
  ];
}

/** The attempts for every operation, with their share of all requests. */
export const ATTEMPTS = [
  ['what its document admits', 0.2, admitted],
  ['values of parameters', 0.15, parameterValues],
  ['parameters that are left out, unknown or given twice', 0.1, otherParameters],
  ['values of bodies', 0.2, bodyValues],
  ['bytes and sizes of bodies', 0.1, bodyBytes],
  ['headers that it does not document', 0.05, otherHeaders],
  ['anything after the question mark', 0.05, otherQueries],
  ['other methods and paths', 0.05, otherRoutes],
] as const;

/** The same requests with credentials that are refused before any other error. */
export function unauthorized(attempts: Attempts, good: string, tokens: readonly string[]): Attempts {
  // The suite of authentication has every form of credentials; here they come with requests that are wrong otherwise.
  const ways = fc.constantFrom(
    [],
    [good],
    ...[...tokens, generateToken(), `${good} ${good}`].map((token) => [`Bearer ${token}`]),
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
  const others = request.headers.filter(([name]) => name !== 'Authorization');
  return { ...request, headers: [...others, ...values.map((value) => ['Authorization', value] as const)] };
}
