import { request } from './raw-http.js';

/** More than is read of a body, and than Node takes as headers, in bytes. */
const BODY = 70_000;
const HEADERS = 20_000;

/** Makes a trace, and with it its state, pass on. */
const TRACEPARENT = `traceparent: 00-${'12'.repeat(16)}-${'34'.repeat(8)}-01`;

/** As `Authorization`, in many spellings. */
export function asCredential(credential: string): string[] {
  const bearer = `Authorization: Bearer ${credential}`;
  const forms = ['Bearer *', 'bearer  *', 'Bearer * *', 'Bearer "*"', 'Bearer *, Bearer *', 'Token *', '*'];
  const values = [...forms.map((form) => form.replaceAll('*', credential)), `Basic ${btoa(`user:${credential}`)}`];
  return [
    ...values.map((value) => request('GET /v1/items', [`Authorization: ${value}`])),
    request('GET /v1/items', [bearer, bearer]),
    request('POST /v1/items', [bearer, 'Content-Type: application/json'], '{'),
    request('GET /v1/nothing', [bearer]),
    request('DELETE /v1/items', [bearer]),
  ];
}

/** Where else a client may put it by mistake. @param valid - token of another client, which lets the request in */
export function elsewhere(credential: string, valid: string): string[] {
  return [
    // No application gets to see these.
    `GET /v1/items HTTP/1.1\r\nHost: x\r\nno header ${credential}\r\n\r\n`,
    `${credential} / HTTP/1.1\r\nHost: x\r\n\r\n`,
    `GET /${credential} HTTP/9.9\r\nHost: x\r\n\r\n`,
    request(`CONNECT ${credential}:443`, []),
    request('GET /v1/items', [`X-Access-Token: ${credential.repeat(HEADERS / credential.length + 1)}`]),
    ...within(credential),
    ...within(credential, `Authorization: Bearer ${valid}`),
  ];
}

/** In the path, the query, other headers and the body. */
function within(credential: string, ...headers: string[]): string[] {
  const text = encodeURIComponent(credential);
  const targets = [
    `/v1/items?access_token[]=${text}&access_token=${text}`,
    `/v1/items?${text}=1`,
    `/v1/items?filter=${text}`,
    `/v1/items?filter=${encodeURIComponent(`name == "${credential}`)}`,
    `/v1/items?filter=${encodeURIComponent(`name == "${credential}"`)}`,
    `/v1/items?cursor=${text}`,
    `/v1/items?limit=${text}`,
    `/v1/items/${text.replace('_', '%5F')}/x`,
    `/${text}`,
  ];
  const fields = [
    `Cookie: access_token=${credential}; session=${btoa(credential)}`,
    `Referer: https://host/?access_token=${credential}`,
    `X-Request-Id: request:${credential}`,
    `traceparent: 00-${credential}-00`,
    ...['X-Access-Token', 'X-Request-Id', 'User-Agent', 'X-Forwarded-For', 'Proxy-Authorization', 'Accept', 'Expect'].map(
      (name) => `${name}: ${credential}`,
    ),
  ];
  const bodies = [
    JSON.stringify({ name: 'x', access_token: credential }),
    JSON.stringify({ [credential]: 1 }),
    JSON.stringify({ name: [credential] }),
    `{"name":"x"}${credential}`,
    `{"name":${credential}`,
    `{"name":"${credential}"x}`,
    credential,
    credential.repeat(BODY / credential.length + 1),
  ];
  const ofBodies = ['Content-Type: *', 'Content-Encoding: *', 'Idempotency-Key: * *'].map((form) =>
    form.replaceAll('*', credential),
  );
  const json = [...headers, 'Content-Type: application/json'];
  return [
    ...targets.map((target) => request(`GET ${target}`, headers)),
    request(`DELETE /v1/items?access_token=${text}`, headers),
    ...fields.map((field) => request('GET /v1/items', [...headers, field])),
    request('GET /v1/items', [...headers, TRACEPARENT, `tracestate: vendor=${credential}`]),
    ...bodies.map((body) => request('POST /v1/items', json, body)),
    ...ofBodies.map((field) =>
      request('POST /v1/items', field.startsWith('Content-Type') ? [...headers, field] : [...json, field], '{}'),
    ),
  ];
}
