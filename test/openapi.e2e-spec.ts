import { readFileSync } from 'node:fs';
import type { Answer, ProblemBody } from './support/api.js';
import { Contract, type Document, examplesOf } from './support/contract.js';
import { runCli } from './support/process.js';
import { request, sendRaw } from './support/raw-http.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let contract: Contract;
let document: Document;

beforeAll(async () => {
  service = await startService();
  contract = await Contract.read(service.api.origin);
  ({ document } = contract);
});

afterAll(() => service.stop());

describe('openapi.json', () => {
  it('is committed as the code makes it: run `npm run openapi` otherwise', async () => {
    const committed = readFileSync('openapi.json', 'utf8');
    expect(JSON.parse(committed)).toEqual(document);
    expect((await runCli(['openapi'], {})).stdout).toBe(committed);
  });

  it('is valid OpenAPI 3.1', async () => {
    expect(document.openapi).toBe('3.1.0');
    expect(await contract.validate()).toEqual({ valid: true });
  });

  it('says what a bearer token is, and which operations need which of its scopes', () => {
    const description = document.components.securitySchemes['token']?.description ?? '';
    expect(description).toMatch(/^An access token of this service, or a JWT/);
    const lines = description.split('\n').filter((line) => line.startsWith('- '));
    expect(lines).toEqual(expect.arrayContaining(['- `items:read`: `GET /v1/items`', '- `items:write`: `POST /v1/items`']));
    for (const { name, operation } of contract.operations) {
      const call = name.replace(/^\w+/, (method) => method.toUpperCase());
      const scopes = operation.security?.flatMap(({ token }) => token) ?? [];
      const listed = lines.filter((line) => line.includes(`\`${call}\``)).map((line) => /`([^`]+)`/.exec(line)?.[1]);
      expect([call, listed.toSorted()]).toEqual([call, scopes.toSorted()]);
      for (const scope of scopes) expect(operation.description).toMatch(new RegExp(`Needs the scopes? .*\`${scope}\``));
    }
  });

  it('leads from every documented problem to its explanation', async () => {
    const { api } = service;
    const page = await (await fetch(`${api.origin}/docs/problems`)).text();
    for (const [status, { description, content = {} }] of contract.operations.flatMap(({ operation }) =>
      Object.entries(operation.responses).filter(([code]) => Number(code) >= 400),
    )) {
      const links = [...description.matchAll(/\[([^\]]+)\]\(docs\/problems#([^)]+)\)/g)].map(([, title, name]) => ({
        title,
        name,
      }));
      const examples = Object.values(content).flatMap(examplesOf) as { title: string; type: string }[];
      expect(links).toEqual(examples.map(({ title, type }) => ({ title, name: type.replace('/docs/problems#', '') })));
      for (const { title, name } of links) expect(page).toContain(`<section id="${name}">\n<h2>${title}</h2>`);
      expect([status, links.length]).not.toEqual([status, 0]);
    }
  });

  it('has a page that lists the codes of faults', async () => {
    const page = await (await fetch(`${service.api.origin}/docs/problems`)).text();
    const { errors } = (await service.api.create({ name: 5, colour: 'red' })).body as unknown as ProblemBody;
    expect(errors).toHaveLength(2);
    for (const { code } of errors ?? []) expect(page).toContain(`<dt><code>${code}</code></dt>`);
  });

  it('describes what the service answers', async () => {
    const { api } = service;
    const key = { 'Idempotency-Key': 'key' };
    await api.post('{"name":"x"}', key);
    const answers: [string, string, Answer<unknown>][] = [
      ['post', '201', await api.post('{"name":"x"}', key)],
      ['post', '422', await api.post('{"name":"y"}', key)],
      ['post', '201', await api.create({ name: 'x', description: 'y' })],
      ['post', '201', await api.create({ name: 'x' })],
      ['post', '400', await api.create({})],
      ['post', '413', await api.post('x'.repeat(70_000))],
      ['get', '200', await api.list({ limit: '1' })],
      ['get', '400', await api.list({ limit: '0' })],
      ['get', '401', await api.send('GET', '/v1/items')],
    ];
    for (const [method, status, answer] of answers) {
      expect([status, contract.faultsOfAnswer(contract.operation(method, '/v1/items'), answer)]).toEqual([
        String(answer.status),
        [],
      ]);
    }
    expect(answers.slice(0, 3).map(([, , { headers }]) => headers.get('idempotent-replayed'))).toEqual(['true', null, null]);
  });
});

describe('Swagger UI', () => {
  it('is made of files of this origin, under a policy that allows nothing else', async () => {
    const page = await fetch(`${service.api.origin}/docs`);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    // Plain HTTP must stay plain HTTP, and nothing inline may run.
    expect(policy).not.toMatch(/unsafe|upgrade-insecure-requests|https?:/);
    const html = await page.text();
    expect(html).not.toMatch(/<style|style=|<script>|https?:/);
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file);
    expect(files.length).toBeGreaterThanOrEqual(4);
    for (const file of files) {
      const response = await fetch(new URL(file, page.url));
      expect([file, response.status]).toEqual([file, 200]);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('content-type')).toMatch(/javascript|css|svg|html|json/);
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100);
    }
  });

  it('serves its files again only when they have changed', async () => {
    const { headers } = await fetch(`${service.api.origin}/docs/assets/swagger-ui-bundle.js`);
    expect(headers.get('cache-control')).toBe('public, max-age=3600');
    const validator = `If-None-Match: ${headers.get('etag')}`;
    const again = await sendRaw(service.port, request('GET /docs/assets/swagger-ui-bundle.js', [validator]));
    expect([again.status, again.body]).toEqual([304, '']);
  });

  it('serves nothing but its own files', async () => {
    for (const path of [
      '/docs/',
      '/docs/assets/',
      '/docs/assets/package.json',
      '/docs/assets/../../package.json',
      '/docs/assets/nothing.js',
    ]) {
      expect((await sendRaw(service.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)).status).toBe(401);
    }
  });
});
