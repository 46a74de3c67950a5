import { request } from './raw-http.js';

/** More than is read of a body, and than Node takes as headers, in bytes. */
const BODY = 70_000;
const HEADERS = 20_000;

/** Makes a trace, and with it its state, pass on. */
const TRACEPARENT = `traceparent: 00-${'12'.repeat(16)}-${'34'.repeat(8)}-01`;

/** As `Authorization`, in many spellings. */
export function asCredential(credential: string): string[] {
  const values = [
    `Bearer ${credential}`,
    `bearer  ${credential}`,
    `Bearer ${credential} ${credential}`,
    `Bearer "${credential}"`,
    `Bearer ${credential}, Bearer ${credential}`,
    `Basic ${btoa(`user:${credential}`)}`,
    `Basic ${btoa(`${credential}:`)}`,
    `Token ${credential}`,
    credential,
  ];
  const headers = values.map((value) => [`Authorization: ${value}`]);
  return [
    ...[...headers, [`Authorization: Bearer ${credential}`, `Authorization: Bearer ${credential}`]].map((fields) =>
      request('GET /v1/items', fields),
    ),
    request('POST /v1/items', [...(headers[0] ?? []), 'Content-Type: application/json'], '{'),
    request('GET /v1/nothing', headers[0] ?? []),
    request('DELETE /v1/items', headers[0] ?? []),
  ];
}

/** Wherever else a client may put it by mistake. @param valid - token of another client, which lets the request in */
export function elsewhere(credential: string, valid: string): string[] {
  return [...unreadable(credential), ...within(credential), ...within(credential, `Authorization: Bearer ${valid}`)];
}

/** In requests that no application gets to see. */
function unreadable(credential: string): string[] {
  return [
    `GET /v1/items HTTP/1.1\r\nHost: x\r\nno header ${credential}\r\n\r\n`,
    `${credential} / HTTP/1.1\r\nHost: x\r\n\r\n`,
    `GET /${credential} HTTP/9.9\r\nHost: x\r\n\r\n`,
    request(`CONNECT ${credential}:443`, []),
    request('GET /v1/items', [`X-Access-Token: ${credential.repeat(HEADERS / credential.length + 1)}`]),
  ];
}

/** In the path, the query, other headers and the body. */
function within(credential: string, ...headers: string[]): string[] {
  const text = encodeURIComponent(credential);
  const json = [...headers, 'Content-Type: application/json'];
  const targets = [
    `/v1/items?access_token=${text}`,
    `/v1/items?access_token[]=${text}&access_token=${text}`,
    `/v1/items?${text}=1`,
    `/v1/items?filter=${text}`,
    `/v1/items?filter=${encodeURIComponent(`name == "${credential}`)}`,
    `/v1/items?filter=${encodeURIComponent(`name == "${credential}"`)}`,
    `/v1/items?cursor=${text}`,
    `/v1/items?limit=${text}`,
    `/v1/items/${text}`,
    `/v1/items/${text.replace('_', '%5F')}/x`,
    `/${text}`,
  ];
  const fields = [
    `Cookie: access_token=${credential}; session=${btoa(credential)}`,
    `X-Access-Token: ${credential}`,
    `X-Request-Id: ${credential}`,
    `X-Request-Id: request:${credential}`,
    `User-Agent: ${credential}`,
    `Referer: https://host/?access_token=${credential}`,
    `X-Forwarded-For: ${credential}`,
    `Proxy-Authorization: Bearer ${credential}`,
    `Accept: ${credential}`,
    `Expect: ${credential}`,
    `traceparent: 00-${credential}-00`,
  ];
  const bodies = [
    JSON.stringify({ name: 'x', access_token: credential }),
    JSON.stringify({ [credential]: 1 }),
    JSON.stringify({ name: [credential] }),
    `{"name":"x"}${credential}`,
    `{"name":${credential}`,
    `{"name":"${credential}`,
    `{"name":"${credential}"x}`,
    `{"${credential}":1,"${credential}":2}`,
    credential,
    credential.repeat(BODY / credential.length + 1),
  ];
  return [
    ...targets.map((target) => request(`GET ${target}`, headers)),
    request(`DELETE ${targets[0] ?? ''}`, headers),
    ...fields.map((field) => request('GET /v1/items', [...headers, field])),
    request('GET /v1/items', [...headers, TRACEPARENT, `tracestate: vendor=${credential}`]),
    ...bodies.map((body) => request('POST /v1/items', json, body)),
    request('POST /v1/items', [...headers, `Content-Type: ${credential}`], '{}'),
    request('POST /v1/items', [...json, `Content-Encoding: ${credential}`], '{}'),
    request('POST /v1/items', [...json, `Idempotency-Key: ${credential} ${credential}`], '{}'),
  ];
}
