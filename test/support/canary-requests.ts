import { request } from './raw-http.js';

/** More than is read of a body, and than Node takes as headers, in bytes. */
const BODY = 70_000;
const HEADERS = 20_000;

/** Makes a trace, and with it its state, pass on. */
const TRACEPARENT = `traceparent: 00-${'12'.repeat(16)}-${'34'.repeat(8)}-01`;

/** As `Authorization`, in many spellings. */
export function asCredential(credential: string): string[] {
  const forms = ['Bearer *', 'Bearer * *', 'Bearer "*"', 'Token *', '*'].map((form) => form.replaceAll('*', credential));
  const values = [...forms, `Basic ${btoa(`user:${credential}`)}`];
  const bearer = `Authorization: Bearer ${credential}`;
  return [
    ...values.map((value) => request('GET /v1/items', [`Authorization: ${value}`])),
    request('GET /v1/items', [bearer, bearer]),
    request('POST /v1/items', [bearer, 'Content-Type: application/json'], '{'),
    request('DELETE /v1/items', [bearer]),
  ];
}

/** Where else a client may put it by mistake. @param valid - token of another client, which lets the request in */
export function elsewhere(credential: string, valid: string): string[] {
  return [
    // No application gets to see these.
    `GET /v1/items HTTP/1.1\r\nHost: x\r\nno header ${credential}\r\n\r\n`,
    `${credential} / HTTP/1.1\r\nHost: x\r\n\r\n`,
    request(`CONNECT ${credential}:443`, []),
    request('GET /v1/items', [`X-Access-Token: ${credential.repeat(HEADERS / credential.length + 1)}`]),
    ...within(credential),
    ...within(credential, `Authorization: Bearer ${valid}`),
  ];
}

/** In the path, the query, other headers and the body. */
function within(credential: string, ...headers: string[]): string[] {
  const text = encodeURIComponent(credential);
  const queries = 'access_token=* *=1 filter=* filter=name%20==%20%22* filter=name%20==%20%22*%22 cursor=* limit=*'.split(
    ' ',
  );
  const targets = [...queries.map((query) => `/v1/items?${query}`), '/v1/items/*/x', '/*'];
  const forms =
    'Referer: https://host/?access_token=*|X-Request-Id: request:*|X-Request-Id: *|User-Agent: *|Accept: *|X-Forwarded-For: *|' +
    `Proxy-Authorization: *|Expect: *|traceparent: 00-*-00|${TRACEPARENT}\r\ntracestate: vendor=*`;
  const fields = [`Cookie: access_token=*; session=${btoa(credential)}`, ...forms.split('|')];
  const bodies = '{"name":"x","access_token":"*"} {"*":1} {"name":["*"]} {"name":"x"}* {"name":* {"name":"*"x} *'.split(' ');
  const types = ['Content-Type: *', 'Content-Encoding: *', 'Idempotency-Key: * *'];
  const json = 'Content-Type: application/json';
  const filled = (form: string, value = credential) => form.replaceAll('*', value);
  return [
    ...targets.map((target) => request(`GET ${filled(target, text)}`, headers)),
    ...fields.map((field) => request('GET /v1/items', [...headers, filled(field)])),
    ...[...bodies.map((body) => filled(body)), credential.repeat(BODY / credential.length + 1)].map((body) =>
      request('POST /v1/items', [...headers, json], body),
    ),
    ...types.map((field) => request('POST /v1/items', [...headers, filled(field), json], '{}')),
  ];
}
