import * as fc from 'fast-check';
import { accepted, acceptedAttempt, type Constraint, refusedAttempt } from './constraint.js';
import { type Draft, type FuzzRequest, requestOf } from './fuzz-request.js';
import type { ValidDrafts } from './valid-drafts.js';

const OTHER_MEDIA_TYPES = [
  '',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/xml',
  'application/jsonp',
  'application/json-patch+json',
  'application/problem+json',
  'text/json',
  '*/*',
  'json',
  'application/json, application/json',
];
const OTHER_CHARSETS = ['application/json; charset=latin1', 'application/json; charset=utf-16'];
const CODINGS = ['gzip', 'deflate', 'br', 'identity, gzip', 'x'];
const SAME_MEDIA_TYPE = [
  'application/json',
  'Application/JSON',
  'application/json; charset=utf-8',
  'application/json;charset="UTF-8"',
  'application/json; version=1',
];

/** What every operation with a body asks of it as a whole: that it is there, and JSON in UTF-8 that is called so. */
export function wholeBodyConstraints(drafts: ValidDrafts): Constraint[] {
  const all = drafts.drafts();
  const whole = (name: string, requests: fc.Arbitrary<FuzzRequest>): Constraint => ({
    name: `body ${name}`,
    broken: requests.map((request) => refusedAttempt(request, drafts.operation, '')),
    kept: accepted(all),
  });
  const sameMediaType = sentWith(all, 'Content-Type', SAME_MEDIA_TYPE);
  return [
    whole(
      'required',
      fc.oneof(
        all.map(withoutBody),
        all.map(({ json: _json, ...draft }) => requestOf({ ...draft, json: undefined })),
      ),
    ),
    {
      ...whole('media type', sentWith(all, 'Content-Type', OTHER_MEDIA_TYPES)),
      kept: sameMediaType.map((request) => acceptedAttempt(request, drafts.operation)),
    },
    whole('charset', fc.oneof(sentWith(all, 'Content-Type', OTHER_CHARSETS), all.map(inWrongEncoding))),
    whole('content coding', sentWith(all, 'Content-Encoding', CODINGS)),
    whole(
      'JSON',
      fc
        .tuple(all, fc.constantFrom(...MALFORMATIONS))
        .map(([draft, malform]) => requestOf(draft, (value) => malform(JSON.stringify(value)))),
    ),
  ];
}

const MALFORMATIONS: readonly ((json: string) => string)[] = [
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

/** With the media type of the body that is not there. */
function withoutBody(draft: Draft): FuzzRequest {
  const { body: _body, ...request } = requestOf(draft);
  return request;
}

function sentWith(drafts: fc.Arbitrary<Draft>, name: string, values: readonly string[]): fc.Arbitrary<FuzzRequest> {
  return fc.tuple(drafts, fc.constantFrom(...values)).map(([draft, value]) => withHeader(requestOf(draft), name, value));
}

function withHeader(request: FuzzRequest, name: string, value: string): FuzzRequest {
  return { ...request, headers: [...request.headers.filter(([other]) => other !== name), [name, value]] };
}

/** Bytes that are no UTF-8 in the place of the last ones. */
function inWrongEncoding(draft: Draft): FuzzRequest {
  const request = requestOf(draft);
  return { ...request, body: Uint8Array.from([...Buffer.from(request.body ?? '').subarray(0, -1), 0xc3, 0x7d]) };
}
