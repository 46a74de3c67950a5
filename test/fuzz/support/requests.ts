import { Validator } from '@seriousme/openapi-schema-validator';
import * as fc from 'fast-check';
import type { Document, Operation } from '../../support/contract.js';
import { asObject, boundOf, type JsonObject, typesOf } from './schema.js';
import { ABSENT, textsOf, valuesOf } from './values.js';

export interface Parameter {
  in: string;
  name: string;
  required: boolean;
  schema: JsonObject;
  examples?: Record<string, { value: string }> | undefined;
}

/** A value of a request that a schema describes: the body, a property in it, or a parameter. */
export interface Place {
  in: string;
  /** Names of properties from the body down, or the name of the parameter. */
  path: readonly string[];
  schema: JsonObject;
  required: boolean;
  examples?: Parameter['examples'];
}

/** An operation as its document describes it, with every reference followed. */
export interface Described {
  name: string;
  method: string;
  path: string;
  operation: Operation;
  parameters: readonly Parameter[];
  body: JsonObject | undefined;
  successes: readonly number[];
}

/** A document in which what references lead to stands in their place. */
interface Resolved {
  paths: Record<
    string,
    Record<string, { parameters?: Parameter[]; requestBody?: { content: Record<string, { schema: JsonObject }> } }>
  >;
}

type Pair = readonly [name: string, value: string];

export interface FuzzRequest {
  method: string;
  /** Path and query, percent-encoded. */
  target: string;
  /** Each may come several times. Latin-1, as bytes. */
  headers: readonly Pair[];
  body?: string | Uint8Array<ArrayBuffer>;
  /** Whether it is sent with its own credentials, or without any, instead of a good token. */
  hasOwnCredentials?: boolean;
}

/** A request, and the responses that are right. */
export interface Attempt {
  request: FuzzRequest;
  /** The operation that documents the response; undefined where no operation is called. */
  operation: Described | undefined;
  statuses: readonly number[];
  /** The place that a 400 must name, and no other. */
  place?: string;
}

/** A request before it is put into bytes. */
export interface Draft {
  operation: Described;
  parameters: readonly { in: string; name: string; value: string }[];
  json: unknown;
}

export function describedOperations(document: Document, below: string): Described[] {
  const resolved = new Validator().resolveRefs({ specification: structuredClone(document) as never }) as unknown as Resolved;
  return Object.entries(document.paths)
    .filter(([path]) => path.startsWith(below))
    .flatMap(([path, item]) => Object.entries(item).map(([method, operation]) => ({ path, method, operation })))
    .map(({ path, method, operation }) => {
      const { parameters = [], requestBody } = resolved.paths[path]?.[method] ?? {};
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        operation,
        parameters,
        body: requestBody?.content['application/json']?.schema,
        successes: Object.keys(operation.responses)
          .map(Number)
          .filter((status) => status < 300),
      };
    });
}

export function placesOf({ parameters, body }: Described): Place[] {
  const ofParameters = parameters.map((parameter) => ({ ...parameter, path: [parameter.name] }));
  return [...ofParameters, ...(body ? placesIn(body, [], true) : [])];
}

function placesIn(schema: JsonObject, path: readonly string[], required: boolean): Place[] {
  const { required: names = [] } = schema as { required?: string[] };
  const properties = Object.entries(asObject(schema['properties']));
  return [
    { in: 'body', path, schema, required },
    ...properties.flatMap(([name, property]) => placesIn(asObject(property), [...path, name], names.includes(name))),
  ];
}

/** How problems name a place: a JSON Pointer (RFC 6901) for the body and what is in it, the name for a parameter. */
export function nameOf({ in: location, path }: Pick<Place, 'in' | 'path'>): string {
  return location === 'body' ? path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('') : path.join();
}

/** The draft with another value at a place. */
export function withPlaced(draft: Draft, { in: location, path }: Pick<Place, 'in' | 'path'>, value: unknown): Draft {
  if (location === 'body') {
    return { ...draft, json: withValue(draft.json, path, value) };
  }
  const [name = ''] = path;
  const others = draft.parameters.filter((other) => other.in !== location || other.name !== name);
  return { ...draft, parameters: value === ABSENT ? others : [...others, { in: location, name, value: String(value) }] };
}

function withValue(root: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) {
    return value;
  }
  const { [name]: before, ...others } = asObject(root);
  const after = withValue(before, rest, value);
  // An object literal would take __proto__ for its prototype.
  return after === ABSENT ? others : Object.fromEntries([...Object.entries(others), [name, after]]);
}

type Spelling = (value: unknown) => string;

/** Ways to write the same JSON that a parser must not care about. */
const SPELLINGS: readonly Spelling[] = [
  JSON.stringify,
  (value) => `\n\t ${JSON.stringify(value, null, 2)}\r\n`,
  (value) =>
    JSON.stringify(value).replaceAll(/[^\0-~]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  (value) => `\ufeff${JSON.stringify(value)}`,
];

export function requestOf({ operation, parameters, json }: Draft, spelling: Spelling = JSON.stringify): FuzzRequest {
  const sent = (location: string) =>
    parameters.filter((parameter) => parameter.in === location).map(({ name, value }): Pair => [name, value]);
  const values = Object.fromEntries(sent('path'));
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(values[name] ?? ''));
  const search = sent('query').map((pair) => pair.map(encodeURIComponent).join('='));
  return {
    method: operation.method,
    target: search.length === 0 ? path : `${path}?${search.join('&')}`,
    headers: json === undefined ? sent('header') : [['Content-Type', 'application/json'], ...sent('header')],
    ...(json !== undefined && { body: spelling(json) }),
  };
}

/** A request that must succeed, or fail as the operation says for states that it may meet: nothing there, or a value taken. */
export function accepted(request: FuzzRequest, operation: Described): Attempt {
  const conflicts = operation.path.includes('{') ? [404, 409] : [409];
  const statuses = conflicts.filter((status) => Object.hasOwn(operation.operation.responses, String(status)));
  return { request, operation, statuses: [...operation.successes, ...statuses] };
}

export function acceptedDrafts(drafts: fc.Arbitrary<Draft>): fc.Arbitrary<Attempt> {
  return fc
    .tuple(drafts, fc.constantFrom(...SPELLINGS))
    .map(([draft, spelling]) => accepted(requestOf(draft, spelling), draft.operation));
}

/** Makes requests that an operation's document admits. */
export class Drafts {
  /** Made once: what is known of texts that are valid is found by trying. */
  readonly all: fc.Arbitrary<Draft>;

  /** @param cursors - `nextCursor`s of lists without a filter */
  constructor(
    readonly operation: Described,
    readonly cursors: readonly string[],
  ) {
    const { parameters, body } = operation;
    const entries = parameters.map((parameter) => {
      const { in: location, name } = parameter;
      const given = this.texts(parameter).map((value) => ({ in: location, name, value }));
      return parameter.required ? given : fc.option(given, { nil: undefined, freq: 2 });
    });
    this.all = fc.tuple(fc.tuple(...entries), body ? valuesOf(body) : fc.constant(undefined)).map(([sent, json]) => ({
      operation,
      parameters: withoutForeignCursor(sent.filter((entry) => entry !== undefined)),
      json,
    }));
  }

  texts({ name, schema, examples }: Parameter): fc.Arbitrary<string> {
    switch (name) {
      case 'cursor':
        return fc.constantFrom(...this.cursors);
      case 'filter':
        return fc.oneof(
          filtersOf(filtersAmong(examples)),
          filtersOfLength(boundOf(schema, 'maxLength', 0), filtersAmong(examples)),
        );
      case 'Idempotency-Key':
        // No two have the same by chance.
        return fc.noBias(fc.uuid());
      default:
        return typesOf(schema).includes('string') ? textsOf(schema) : valuesOf(schema).map(String);
    }
  }
}

/** A cursor belongs to the filter that it came with, which was none. */
function withoutForeignCursor(parameters: Draft['parameters']): Draft['parameters'] {
  const isFiltered = parameters.some(({ name, value }) => name === 'filter' && value.trim() !== '');
  return parameters.filter(({ name }) => !(isFiltered && name === 'cursor'));
}

/** The filters of the document, but for the one that is none. */
export function filtersAmong(examples: Parameter['examples'] = {}): string[] {
  return Object.values(examples).flatMap(({ value }) => (value === '' ? [] : [value]));
}

/** Expressions made of those in the document: each has one search at most, and there may be four. */
function filtersOf(examples: readonly string[]): fc.Arbitrary<string> {
  const part = fc.constantFrom(...examples).chain((filter) => fc.constantFrom(`(${filter})`, `!(${filter})`));
  const operators = fc.constantFrom(' && ', ' || ', '\n&&\t');
  return fc.oneof(
    fc.constantFrom('', ...examples),
    fc.tuple(fc.array(part, { minLength: 1, maxLength: 3 }), operators).map(([parts, operator]) => parts.join(operator)),
  );
}

/** Filters of exactly so many code points: a comment fills them up, most of it with a character that is short in a URL. */
export function filtersOfLength(length: number, examples: readonly string[]): fc.Arbitrary<string> {
  return fc.tuple(fc.constantFrom(...examples), fc.constantFrom(' ', 'x', 'é', '😀')).map(([filter, filler]) => {
    const comment = `${filter} //${filler.repeat(50)}`;
    return comment + 'x'.repeat(length - Array.from(comment).length);
  });
}
