import * as fc from 'fast-check';
import {
  accepted,
  acceptedDrafts,
  type Attempt,
  cursorsAmong,
  type Draft,
  type Drafts,
  filtersAmong,
  filtersOfLength,
  type FuzzRequest,
  nameOf,
  type Place,
  placesOf,
  requestOf,
  withPlaced,
} from './requests.js';
import { ABSENT, asObject, boundOf, textsOf, those, typesOf, valuesThatBreak } from './values.js';

/** What a document asks of a request. */
export interface Rule {
  name: string;
  broken: fc.Arbitrary<Attempt>;
  /** Requests that only just keep it, where others than those of the schemas do. */
  kept?: fc.Arbitrary<Attempt>;
}

/** Keywords that say nothing of a value, or are broken at the places in it. */
const NO_RULES = /^(?:properties|required|default|additionalProperties|title|description|examples?|deprecated|x-.*)$/;

/** Texts that are no integer, as they stand in a URL. */
const NO_INTEGERS = ['', ' 5', '5 ', ...'abc 1.5 1.0 1e1 0x10 +5 05 1_0 1,2 [1] ٣ NaN Infinity true null'.split(' ')];

/** Names that JavaScript or the platform gives a meaning, or that are nearly right. */
const TEMPTING =
  '__proto__ constructor prototype toString valueOf toJSON then hasOwnProperty length id createdAt Name na\u200bme / ~ a/b~c 0 ' +
  'after filtered access_token Limit limit[] filter[x] ids';
const tempting = fc.oneof(fc.constantFrom('', 'name ', 'limit ', ...TEMPTING.split(' ')), fc.string({ unit: 'grapheme' }));

/** Everything that the document asks of the requests of an operation: in its schemas, and by what OpenAPI implies. */
export function rulesOf(drafts: Drafts): [name: string, rule: Rule][] {
  const { operation } = drafts;
  const places = placesOf(operation);
  const ofPlaces = places.flatMap((place) =>
    keywordsOf(place).map((keyword) => placedRule(place, keyword, brokenValues(place, keyword, drafts), drafts)),
  );
  const rules = [...ofPlaces, ...parameterRules(drafts), ...(operation.body ? bodyRules(drafts, places) : [])];
  return rules.map((rule) => [`${operation.name}: ${rule.name}`, rule]);
}

function refused(request: FuzzRequest, { operation }: Drafts, place: string, status = 400): Attempt {
  return { request, operation, statuses: [status], place };
}

/** Good requests, with one of these values at a place. */
function placedRule(place: Pick<Place, 'in' | 'name'>, keyword: string, values: fc.Arbitrary<unknown>, drafts: Drafts): Rule {
  const broken = fc
    .tuple(drafts.all, values)
    .map(([draft, value]) => refused(requestOf(withPlaced(draft, place, value)), drafts, nameOf(place)));
  return { name: `${place.in} ${nameOf(place)} ${keyword}`, broken };
}

function isInBody({ in: location }: Place): boolean {
  return location === 'body' || location === 'property';
}

function keywordsOf(place: Place): string[] {
  const { in: location, name, schema, required } = place;
  // Whatever stands in a URL or a header is a text.
  const isRule = (keyword: string) =>
    !NO_RULES.test(keyword) && (isInBody(place) || keyword !== 'type' || schema['type'] !== 'string');
  const hasGrammar = location === 'query' && /^(?:cursor|filter)$/.test(name);
  return [
    ...(required && location !== 'path' ? ['required'] : []),
    ...Object.keys(schema).filter(isRule),
    ...(hasGrammar ? ['meaning'] : []),
  ];
}

function brokenValues(place: Place, keyword: string, drafts: Drafts): fc.Arbitrary<unknown> {
  const { in: location, name, schema, examples } = place;
  const maximum = boundOf(schema, 'maxLength');
  if (location === 'query' && name === 'filter') {
    const filters = filtersAmong(examples);
    return keyword === 'maxLength'
      ? fc.integer({ min: 1, max: 50 }).chain((more) => filtersOfLength(maximum + more, filters))
      : fc.constantFrom(...filters).chain((filter) => fc.constantFrom(...spoilt(filter)));
  }
  if (keyword === 'meaning') {
    return cursorsThatBreak(drafts.cursors, maximum);
  }
  if (!isInBody(place) && keyword === 'type') {
    const texts = fc.string({ unit: 'grapheme' }).filter((text) => !/^-?\d+$/.test(text));
    return fc.oneof(fc.constantFrom(...NO_INTEGERS), texts);
  }
  const values = valuesThatBreak(keyword, schema);
  // An empty path parameter would be another path.
  const isSent = (value: unknown) => isInBody(place) || (isSendable(value) && (location !== 'path' || value !== ''));
  return those(values, isSent) ?? values;
}

/** Whether HTTP can carry it in a header as it is: parsers take off white space around it. */
function isSendable(value: unknown): boolean {
  return value === ABSENT || (/^[\t -~\u0080-\u00ff]*$/.test(String(value)) && String(value).trim() === String(value));
}

/** What follows a good filter and `&&`, and what else ends it: refused by the grammar, or by what lists support of it. */
const WRONG_CONDITIONS = ['', '"unterminated', 'nothingOfThatName == "x"', '1 + 1 == 2', '"\0" == "\0"', 'createdAt'];
const WRONG_TIMES = ['createdAt == "2026-01-01T00:00:00Z"', 'createdAt > timestamp("yesterday")'];
const WRONG_ENDS = [')', ' and true', ' ? true : false', '; DROP TABLE items', ' -- '];

function spoilt(filter: string): string[] {
  return [...WRONG_CONDITIONS, ...WRONG_TIMES]
    .map((condition) => `${filter} && ${condition}`)
    .concat(
      WRONG_ENDS.map((end) => filter + end),
      ['|| ', '(', 'this.', `${filter} `].map((start) => start + filter),
      [`[${filter}][0]`, `{"a": ${filter}}.a`, `${'!('.repeat(17)}${filter}${')'.repeat(17)}`],
      Array.from({ length: 33 }, () => filter).join('||'),
    );
}

/** Texts that are no cursor of a list without a filter. */
function cursorsThatBreak(cursors: readonly string[], maximum: number): fc.Arbitrary<string> {
  const good = cursorsAmong(cursors);
  return fc
    .oneof(
      fc.string({ unit: 'grapheme', maxLength: maximum }),
      fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
      fc
        .tuple(good, fc.nat(43), fc.constantFrom('A', '_', '=', '', 'é'))
        .map(([cursor, at, other]) => cursor.slice(0, at) + other + cursor.slice(at + 1)),
      good.chain((cursor) => fc.constantFrom(`${cursor}=`, ` ${cursor}`, cursor.toLowerCase())),
    )
    .filter((text) => !cursors.includes(text));
}

/** What every operation asks of its parameters: to be known, and given once. */
function parameterRules(drafts: Drafts): Rule[] {
  const { parameters } = drafts.operation;
  const isKnown = (name: string) => parameters.some((parameter) => parameter.in === 'query' && parameter.name === name);
  const unknown = fc
    .tuple(
      drafts.all,
      tempting.filter((name) => !isKnown(name)),
      fc.string({ unit: 'grapheme' }),
    )
    .map(([draft, name, value]) => refused(requestOf(withPlaced(draft, { in: 'query', name }, value)), drafts, name));
  const repeated = parameters
    .filter((parameter) => parameter.in !== 'path')
    .map((parameter): Rule => {
      const { in: location, name, schema } = parameter;
      const texts = drafts.texts(parameter);
      const broken = fc.tuple(drafts.all, texts, texts).map(([draft, ...values]) => {
        const others = draft.parameters.filter((other) => other.name !== name && other.name !== 'cursor');
        const both = values.map((value) => ({ in: location, name, value }));
        return refused(requestOf({ ...draft, parameters: [...others, ...both] }), drafts, name);
      });
      // Drafts have keys that no two share by chance, which are all of one length.
      const kept = fc.tuple(drafts.all, textsOf(schema)).map(([draft, value]) => withPlaced(draft, parameter, value));
      const rule: Rule = { name: `${location} ${name} once`, broken };
      if (location === 'header') rule.kept = acceptedDrafts(kept);
      return rule;
    });
  return [{ name: 'query known parameters alone', broken: unknown }, ...repeated];
}

const OTHER_MEDIA_TYPES = [
  '',
  'multipart/form-data; boundary=x',
  'application/json, application/json',
  ...'text/plain text/json */* json application/x-www-form-urlencoded application/xml application/jsonp'.split(' '),
  ...'application/json-patch+json application/problem+json'.split(' '),
];
const SAME_MEDIA_TYPE = ['', '; charset=utf-8', ';charset="UTF-8"', '; version=1'].flatMap((parameter) =>
  ['application/json', 'Application/JSON'].map((type) => type + parameter),
);

const malformations: readonly ((json: string) => string)[] = [
  (json) => json.slice(0, -1),
  (json) => json.slice(1),
  (json) => `${json}}`,
  (json) => `${json},`,
  (json) => `${json}${json}`,
  (json) => json.replaceAll('"', "'"),
  (json) => json.replace(/\}$/, ',}'),
  (json) => `//\n${json}`,
  (json) => `)]}'\n${json}`,
  (json) => json.replace(/^\{/, '{"x":NaN,'),
  (json) => json.replace(/^\{/, '{"x":01,'),
  (json) => json.replace(/^\{/, '{"x":"\n",'),
  (json) => `\0${json}`,
  () => ' ',
];

/** What every operation with a body asks of it beyond the values in its schema. */
function bodyRules(drafts: Drafts, places: readonly Place[]): Rule[] {
  const { all, operation } = drafts;
  const whole = (name: string, requests: fc.Arbitrary<FuzzRequest>): Rule => ({
    name: `body ${name}`,
    broken: requests.map((request) => refused(request, drafts, '')),
  });
  const sentWith = (name: string, ...values: string[]) =>
    fc.tuple(all, fc.constantFrom(...values)).map(([draft, value]) => withHeader(requestOf(draft), name, value));
  // Bytes that are no UTF-8 in the place of the last ones.
  const inWrongEncoding = all.map((draft) => {
    const { body = '', ...request } = requestOf(draft);
    return { ...request, body: Uint8Array.from([...Buffer.from(body).subarray(0, -1), 0xc3, 0x7d]) };
  });
  const withoutBody = all.map((draft) => {
    const { body: _body, ...request } = requestOf(draft);
    return request;
  });
  const malformed = fc
    .tuple(all, fc.constantFrom(...malformations))
    .map(([draft, malform]) => requestOf(draft, (value) => malform(JSON.stringify(value))));
  const known = asObject(operation.body?.['properties']);
  const unknown = fc
    .tuple(
      all,
      tempting.filter((name) => !Object.hasOwn(known, name)),
      fc.constantFrom(null, 1, 'x', true),
    )
    .map(([draft, name, value]) => {
      const added = { in: 'property', name };
      return refused(requestOf(withPlaced(draft, added, value)), drafts, nameOf(added));
    });
  // JSON can escape half of a character, which is no text.
  const halves = fc.constantFrom('\ud800', '\udfff', 'x\ud83d', '\ude00x', '\ude00\ud83d');
  return [
    whole(
      'required',
      fc.oneof(
        withoutBody,
        all.map((draft) => requestOf({ ...draft, json: undefined })),
      ),
    ),
    {
      ...whole('media type', sentWith('Content-Type', ...OTHER_MEDIA_TYPES)),
      kept: sentWith('Content-Type', ...SAME_MEDIA_TYPE).map((request) => accepted(request, operation)),
    },
    whole(
      'charset',
      fc.oneof(sentWith('Content-Type', 'application/json; charset=latin1', 'application/json; charset=utf-16'), inWrongEncoding),
    ),
    whole('content coding', sentWith('Content-Encoding', 'gzip', 'deflate', 'br', 'identity, gzip', 'x')),
    whole('JSON', malformed),
    sizeRule(drafts),
    ...(operation.body?.['additionalProperties'] === false ? [{ name: 'body additionalProperties', broken: unknown }] : []),
    ...places.filter(isBodyText).map((place) => placedRule(place, 'is Unicode', halves, drafts)),
  ];
}

function withHeader({ headers, ...request }: FuzzRequest, name: string, value: string): FuzzRequest {
  return { ...request, headers: [...headers.filter(([other]) => other !== name), [name, value]] };
}

/** As many bytes as the response 413 of the document says. */
function sizeRule(drafts: Drafts): Rule {
  const { operation, all } = drafts;
  const [, maximum] = /at most (\d+) bytes/.exec(JSON.stringify(operation.operation.responses['413'])) ?? [];
  if (maximum === undefined) {
    throw new Error(`${operation.name} does not say how large its body may be.`);
  }
  const padded = (draft: Draft, more: number) => {
    const json = JSON.stringify(draft.json);
    return requestOf(draft, () => json + ' '.repeat(Number(maximum) + more - Buffer.byteLength(json)));
  };
  return {
    name: 'body size',
    broken: fc
      .tuple(all, fc.constantFrom(1, 1, 2, 1000, 70_000))
      .map(([draft, more]) => refused(padded(draft, more), drafts, '', 413)),
    kept: all.map((draft) => accepted(padded(draft, 0), operation)),
  };
}

function isBodyText({ in: location, schema }: Place): boolean {
  return location === 'property' && typesOf(schema).includes('string') && !('enum' in schema) && !('format' in schema);
}
