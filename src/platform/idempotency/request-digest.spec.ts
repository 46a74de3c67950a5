import { requestDigest } from './request-digest.js';

const request = { method: 'POST', url: '/v1/items', body: { name: 'x', tags: ['a', 'b'], size: { width: 1, height: 2 } } };
const digest = requestDigest(request).toString('hex');

it('is the same however the JSON is spelled', () => {
  const body: unknown = JSON.parse('{"size":{"height":2.0,"width":1},"tags":["a","b"],"name":"\\u0078"}');
  expect(requestDigest({ ...request, body }).toString('hex')).toBe(digest);
});

it.each([
  ['method', { ...request, method: 'PUT' }],
  ['path', { ...request, url: '/v1/things' }],
  ['query', { ...request, url: '/v1/items?a=1' }],
  ['value', { ...request, body: { ...request.body, name: 'y' } }],
  ['type', { ...request, body: { ...request.body, size: { width: '1', height: 2 } } }],
  ['order of a list', { ...request, body: { ...request.body, tags: ['b', 'a'] } }],
  ['missing property', { ...request, body: { name: 'x' } }],
  ['property more', { ...request, body: { ...request.body, description: null } }],
  ['missing body', { ...request, body: undefined }],
])('is another one with another %s', (_case, other) => {
  expect(requestDigest(other).toString('hex')).not.toBe(digest);
});
