import type { OpenAPIObject } from '@nestjs/swagger';
import { landingPage, problemsPage } from './pages.js';

const json = (media: object) => ({ content: { 'application/json': media } });
const documentOf = (requestBody: object): OpenAPIObject => ({
  openapi: '3.1.0',
  info: { title: 'Parts', version: '1.0.0' },
  paths: {
    '/v1/parts/{id}': { get: { responses: {} }, post: { requestBody: json({ example: {} }), responses: {} } },
    '/v1/parts': {
      get: { responses: { 200: { description: '', ...json({ example: [undefined] }) } } },
      post: { requestBody: json(requestBody), responses: { 201: { description: '', ...json({ examples: { one: {} } }) } } },
    },
  },
});

it.each([
  ['an example', { example: { name: 'Bell' } }, `-d '{"name":"Bell"}' /v1/parts`],
  ['named examples', { examples: { one: { value: { name: "Ada's" } } } }, String.raw`-d '{"name":"Ada'\''s"}' /v1/parts`],
  ['a reference to an example', { examples: { one: { $ref: '#/components/examples/one' } } }, '$TOKEN" /v1/parts'],
  ['an example that is a text', { example: 'Bell' }, '$TOKEN" /v1/parts'],
  ['no example', {}, '$TOKEN" /v1/parts'],
])('the landing page has the command for a body with %s, and none for a path with parameters', (_case, body, command) => {
  const page = landingPage(documentOf(body));
  expect(page).toContain(`${command}</code>`);
  expect(page.match(/<code>curl/g)).toHaveLength(command.startsWith('-d') ? 2 : 1);
});

it('the page of problems works with examples of any form', () => {
  expect(problemsPage(documentOf({}))).toContain('<section id="not-found">');
});
