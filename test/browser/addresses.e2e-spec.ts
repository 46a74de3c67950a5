import { createServer } from 'node:http';
import type { Browser } from 'playwright-core';
import { startBrowser, Visitor } from '../support/browser.js';
import { freePort } from '../support/free-port.js';
import { listen } from '../support/listen.js';
import { startNginx } from '../support/nginx.js';
import { type Service, startService } from '../support/service.js';

// What a browser makes of PUBLIC_URL, behind nginx, and of CORS_ORIGINS, on pages of other origins.

let browser: Browser;
let service: Service;
let root: string;
let shop: string;
let stranger: string;

beforeAll(async () => {
  const page = () =>
    createServer((_request, response) => response.setHeader('Content-Type', 'text/html').end('<p>A shop.</p>'));
  [shop = '', stranger = ''] = await Promise.all(
    [page(), page()].map(async (each) => `http://127.0.0.1:${await listen(each)}`),
  );
  const port = await freePort();
  root = `http://127.0.0.1:${port}/catalog/`;
  service = await startService({ PUBLIC_URL: root.slice(0, -1), CORS_ORIGINS: shop, RATE_LIMIT: '3' });
  await startNginx([service.port], port);
  browser = await startBrowser();
});

afterAll(async () => {
  await service.stop();
  await browser.close();
});

it('the console works below the path of nginx, and links to the explanations of errors [pages-below-path]', async () => {
  const reader = await Visitor.come(browser, new URL(root).origin);
  const { page } = reader;
  await page.goto(`${root}docs`);
  await reader.authorize((await service.newClient()).token);
  const { status, response } = await reader.execute('createItem');
  expect([status, response.url()]).toEqual(['201', `${root}v1/items`]);
  const operation = await reader.operation('createItem');
  const links = await operation.locator('.responses-table a[href*="problems#"]').evaluateAll((all) => all.map(String));
  expect([links.length > 3, links.filter((link) => !link.startsWith(`${root}docs/problems#`))]).toEqual([true, []]);
  await operation.locator('textarea').fill('{}');
  await (await reader.execute('createItem')).explanation.click();
  await page.waitForURL(`${root}docs/problems#invalid-body`);
  expect(await page.locator('section:target h2').innerText()).toBe('Invalid body');
  expect([reader.complaints, reader.refusals]).toEqual([[], ['400 /catalog/v1/items']]);
  await page.context().close();
});

/** Sends requests from a page. @returns the status, problem and headers that it can read of each, or "not shown" */
async function sendFrom(origin: string, token: string) {
  const page = await browser.newPage();
  await page.goto(origin);
  const seen = await page.evaluate(
    async ({ url, authorization }) => {
      const post = {
        'Content-Type': 'application/json',
        'Idempotency-Key': crypto.randomUUID(),
        'X-Request-Id': 'of-a-page',
      };
      const create = { method: 'POST', body: '{"name":"Bell"}' };
      const requests = [
        { ...create, headers: { ...authorization, ...post } },
        { headers: {} },
        { headers: { Authorization: 'Bearer wrong' } },
        { ...create, body: ' '.repeat(65_537), headers: { ...authorization, ...post } },
        { headers: authorization },
        { headers: authorization },
      ];
      const results: object[] = [];
      for (const init of requests) {
        try {
          const { status, headers, ...rest } = await fetch(url, init).then(async (response) => ({
            status: response.status,
            headers: response.headers,
            body: (await response.json()) as { type?: string },
          }));
          const shown = ['X-Request-Id', 'RateLimit', 'Retry-After', 'WWW-Authenticate'].filter((name) => headers.has(name));
          results.push([status, rest.body.type, shown]);
        } catch {
          results.push(['not shown']);
        }
      }
      return results;
    },
    { url: `${root}v1/items`, authorization: { Authorization: `Bearer ${token}` } },
  );
  await page.close();
  return seen;
}

it('a page of an origin in CORS_ORIGINS sends requests with a token, and reads errors and headers [cors-errors]', async () => {
  const type = (name: string) => `/catalog/docs/problems#${name}`;
  expect(await sendFrom(shop, (await service.newClient()).token)).toEqual([
    [201, undefined, ['X-Request-Id', 'RateLimit']],
    [401, type('unauthorized'), ['X-Request-Id', 'WWW-Authenticate']],
    [401, type('unauthorized'), ['X-Request-Id', 'WWW-Authenticate']],
    [413, type('content-too-large'), ['X-Request-Id', 'RateLimit']],
    [200, undefined, ['X-Request-Id', 'RateLimit']],
    [429, type('rate-limited'), ['X-Request-Id', 'RateLimit', 'Retry-After']],
  ]);
});

it('a page of another origin reads nothing, and its requests with a token are not sent [cors-origins]', async () => {
  const client = await service.newClient();
  const seen = await sendFrom(stranger, client.token);
  expect(seen).toEqual(Array.from({ length: 6 }, () => ['not shown']));
  expect((await client.list()).headers.get('ratelimit')).toMatch('r=2;');
});
