import { Validator } from '@seriousme/openapi-schema-validator';
import * as fc from 'fast-check';
import type { Document, Operation } from '../../support/contract.js';
import { ABSENT, asObject, bodiesOf, boundOf, type JsonObject, textsOf, typesOf, valuesOf } from './values.js';

/** A value of a request that a schema describes: a parameter, the body, or a property of it. */
export interface Place {
  in: string;
  name: string;
  required: boolean;
  schema: JsonObject;
  examples?: Record<string, { value: string }>;
}

/** An operation as its document describes it, with every reference followed. */
export interface Described {
  name: string;
  method: string;
  path: string;
  operation: Operation;
  parameters: readonly Place[];
  body: JsonObject | undefined;
  successes: readonly number[];
}

interface Resolved {
  paths: Record<
    string,
    Record<string, { parameters?: Place[]; requestBody?: { content: Record<string, { schema: JsonObject }> } }>
  >;
}

export interface FuzzRequest {
  method: string;
  /** Path and query, percent-encoded. */
  target: string;
  /** Each may come several times. Latin-1, as bytes. */
  headers: readonly (readonly [name: string, value: string])[];
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
  const paths = Object.entries(document.paths).filter(([path]) => path.startsWith(below));
  return paths.flatMap(([path, item]) =>
    Object.entries(item).map(([key, operation]) => {
      const { parameters = [], requestBody } = resolved.paths[path]?.[key] ?? {};
      const method = key.toUpperCase();
      const statuses = Object.keys(operation.responses).map(Number);
      const successes = statuses.filter((status) => status < 300);
      const body = requestBody?.content['application/json']?.schema;
      return { name: `${method} ${path}`, method, path, operation, parameters, body, successes };
    }),
  );
}

export function placesOf({ parameters, body }: Described): Place[] {
  const required = (body?.['required'] ?? []) as string[];
  const properties = Object.entries(asObject(body?.['properties'])).map(([name, schema]): Place => ({
    in: 'property',
    name,
    required: required.includes(name),
    schema: asObject(schema),
  }));
  return [...parameters, ...(body ? [{ in: 'body', name: '', required: false, schema: body }] : []), ...properties];
}

/** How problems name a place: a JSON Pointer (RFC 6901) for the body and what is in it, the name for a parameter. */
export function nameOf({ in: location, name }: Pick<Place, 'in' | 'name'>): string {
  return location === 'property' ? `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}` : name;
}

/** The draft with another value at a place. */
export function withPlaced(draft: Draft, { in: location, name }: Pick<Place, 'in' | 'name'>, value: unknown): Draft {
  if (location === 'body') {
    return { ...draft, json: value };
  }
  if (location === 'property') {
    const others = Object.entries(asObject(draft.json)).filter(([other]) => other !== name);
    // An object literal would take __proto__ for its prototype.
    return { ...draft, json: Object.fromEntries(value === ABSENT ? others : [...others, [name, value]]) };
  }
  const others = draft.parameters.filter((other) => other.in !== location || other.name !== name);
  return { ...draft, parameters: value === ABSENT ? others : [...others, { in: location, name, value: String(value) }] };
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
    parameters.filter((parameter) => parameter.in === location).map(({ name, value }) => [name, value] as const);
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
      const { in: location, name, required } = parameter;
      const given = this.texts(parameter).map((value) => ({ in: location, name, value }));
      return required ? given : fc.option(given, { nil: undefined, freq: 2 });
    });
    this.all = fc.tuple(fc.tuple(...entries), body ? bodiesOf(body) : fc.constant(undefined)).map(([sent, json]) => {
      const given = sent.filter((entry) => entry !== undefined);
      // A cursor belongs to the filter that it came with, which was none.
      const isFiltered = given.some(({ name, value }) => name === 'filter' && value.trim() !== '');
      return { operation, parameters: given.filter(({ name }) => !(isFiltered && name === 'cursor')), json };
    });
  }

  texts({ name, schema, examples }: Place): fc.Arbitrary<string> {
    switch (name) {
      case 'cursor':
        return cursorsAmong(this.cursors);
      case 'filter':
        return fc.oneof(filtersOf(filtersAmong(examples)), filtersOfLength(boundOf(schema, 'maxLength'), filtersAmong(examples)));
      case 'Idempotency-Key':
        // No two have the same by chance.
        return fc.noBias(fc.uuid());
      default:
        return typesOf(schema).includes('string') ? textsOf(schema) : valuesOf(schema).map(String);
    }
  }
}

/** One of the cursors that there are by the time when it is asked for. */
export function cursorsAmong(cursors: readonly string[]): fc.Arbitrary<string> {
  return fc.nat().map((number) => cursors[number % cursors.length] ?? 'none');
}

/** The filters of the document, but for the one that is none. */
export function filtersAmong(examples: Place['examples'] = {}): string[] {
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
