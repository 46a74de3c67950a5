import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Module } from '@nestjs/common';
import type { Browser } from 'playwright-core';
import { AppModule } from '../../src/app.module.js';
import { WidgetsModule } from '../fixtures/widgets/widgets.module.js';
import { startBrowser, Visitor } from '../support/browser.js';
import { Console } from '../support/console.js';
import { Contract } from '../support/contract.js';
import { Gateway } from '../support/gateway.js';
import { type Service, startService } from '../support/service.js';

// What the console promises, it promises to every module.
@Module({ imports: [AppModule, WidgetsModule] })
class TwoFeaturesModule {}

/** More than a visitor needs here, and soon used up. */
const RATE_LIMIT = 60;

let service: Service;
let contract: Contract;
let browser: Browser;
let visitor: Visitor;
let swagger: Console;

beforeAll(async () => {
  service = await startService({ RATE_LIMIT: String(RATE_LIMIT) }, undefined, TwoFeaturesModule);
  contract = await Contract.read(service.api.origin);
  browser = await startBrowser();
  visitor = await Visitor.come(browser, service.api.origin, { colorScheme: 'light' });
  swagger = new Console(visitor.page, `${service.api.origin}/`);
  await swagger.open();
});

afterAll(async () => {
  // The browser may not have started.
  await service.stop();
  await browser.close();
});

afterEach(() => expect(visitor.complaints).toEqual([]));

const ids = () => contract.operations.map(({ operation: { operationId } }) => operationId);

describe('the console', () => {
  it('introduces the service and each of its parts', async () => {
    const { page } = visitor;
    expect([await page.title(), await page.locator('html').getAttribute('lang')]).toEqual(['Console – Items Service', 'en']);
    expect(await page.locator('.info').innerText()).toContain('First steps');
    const sections = await page.locator('.opblock-tag').allInnerTexts();
    expect(sections.map((text) => text.replaceAll(/\s+/g, ' ').trim())).toEqual(
      contract.document.tags.map(({ name, description }) => `${name} ${description}`),
    );
    // What would lead elsewhere, or choose among one.
    expect(await page.locator('.topbar, .servers').count()).toBe(0);
    await visitor.screenshot('console-light');
  });

  it('says what a token is and what it may be restricted to', async () => {
    const { page } = visitor;
    await page.locator('button.authorize').first().click();
    const scheme = await page.locator('.modal-ux .auth-container').innerText();
    for (const part of ['or a JWT of the identity provider', 'items:read: GET /v1/items', 'items:write: POST /v1/items']) {
      expect(scheme).toContain(part);
    }
    await visitor.screenshot('console-authorize-light');
    await page.locator('.modal-ux .btn-done').click();
  });

  it('keeps a visitor authorized when the page is loaded again, until logged out', async () => {
    await swagger.authorize(service.api.token);
    await visitor.page.reload();
    await swagger.operation('listItems');
    expect(await swagger.isAuthorized()).toBe(true);
    expect((await swagger.execute('listItems')).status).toBe('200');
    await swagger.logOut();
    await visitor.page.reload();
    const refused = await swagger.execute('listItems');
    expect([refused.status, await swagger.isAuthorized()]).toEqual(['401', false]);
    expect(visitor.refusals.splice(0)).toEqual(['401 /v1/items']);
    expect(await visitor.page.evaluate('JSON.stringify(localStorage)')).not.toContain(service.api.token);
    await swagger.authorize(service.api.token);
  });

  it('executes every operation with what its examples have put into the fields', async () => {
    const created: string[] = [];
    for (const id of ids()) {
      const { status, text } = await swagger.execute(id);
      expect([id, status]).toEqual([id, expect.stringMatching(/^20[0-4]$/)]);
      if (status === '201') created.push(text);
    }
    expect(created.join()).toContain('Blue bicycle');
    // A second time, too: no key is used twice.
    const again = await swagger.execute('createItem');
    expect([again.status, again.response.headers()['idempotent-replayed']]).toEqual(['201', undefined]);
    expect((await swagger.execute('listItems')).text.match(/"name": "Blue bicycle"/g)).toHaveLength(2);
    await visitor.screenshot('console-listed-light');
  });

  it('tells which scopes an operation needs', async () => {
    const description = (await swagger.operation('createItem')).locator('.opblock-description');
    expect(await description.innerText()).toContain('Needs the scope items:write, if the token is restricted to scopes.');
  });

  it('leads from every documented refusal to its explanation', async () => {
    const explained = await visitor.page.evaluate(async () => {
      const text = await (await fetch('docs/problems')).text();
      return [...text.matchAll(/<section id="([^"]+)">/g)].map(([, id]) => id);
    });
    for (const { operation } of contract.operations) {
      const block = await swagger.operation(operation.operationId);
      const links = block.locator('.responses-inner .response[data-code^="4"] .response-col_description__inner a');
      const hrefs = await links.evaluateAll((all) => all.map((link) => (link as unknown as { href: string }).href));
      const refusals = Object.keys(operation.responses).filter((status) => status.startsWith('4'));
      expect(hrefs.length).toBeGreaterThanOrEqual(refusals.length);
      const [pages, names] = [0, 1].map((part) => hrefs.map((href) => href.split('#')[part]));
      expect(new Set(pages)).toEqual(new Set([`${service.api.origin}/docs/problems`]));
      expect(names?.filter((name) => !explained.includes(name))).toEqual([]);
    }
  });

  it('offers filters to choose from, each of which works', async () => {
    const { examples = {} } = contract.operation('get', '/v1/items').parameters?.find(({ name }) => name === 'filter') ?? {};
    expect(Object.keys(examples).length).toBeGreaterThan(5);
    const choice = (await swagger.operation('listItems')).locator('tr[data-param-name="filter"] select');
    const found = new Map<string, number>();
    for (const [label, { value }] of Object.entries(examples)) {
      await choice.selectOption(label);
      const { status, response } = await swagger.execute('listItems');
      expect([label, status]).toEqual([label, '200']);
      expect(new URL(response.url()).searchParams.get('filter') ?? '').toBe(value);
      found.set(label, ((await response.json()) as { items: unknown[] }).items.length);
    }
    expect([found.get('No filter'), found.get('With a certain name'), found.get('Without a description')]).toEqual([2, 2, 0]);
  });
});

describe('a problem', () => {
  const back = () => visitor.page.locator('.bar nav a', { hasText: 'Console' }).click();

  it('of a request that is wrong is shown, and leads to its explanation and back', async () => {
    await (await swagger.operation('listItems')).locator('tr[data-param-name="filter"] input').fill('colour == "blue"');
    const { status, text, explanation } = await swagger.execute('listItems');
    expect(status).toBe('400');
    for (const part of ['"code": "unknown_field"', 'there are id, name, description, createdAt', '"start": 0']) {
      expect(text).toContain(part);
    }
    await explanation.scrollIntoViewIfNeeded();
    await visitor.screenshot('console-400-light');
    await explanation.click();
    await visitor.page.waitForURL(`${service.api.origin}/docs/problems#invalid-parameters`);
    const section = visitor.page.locator('section:target');
    expect(await section.locator('h2').innerText()).toBe('Invalid parameters');
    const { y = Infinity } = (await section.boundingBox()) ?? {};
    expect([y >= 0, y < 900]).toEqual([true, true]);
    await visitor.screenshot('problem-400-light');
    await back();
    await swagger.operation('listItems');
    expect(visitor.refusals.splice(0)).toEqual(['400 /v1/items']);
  });

  it('of a limit that is used up is shown with the time to wait, and leads to its explanation', async () => {
    const busy = await service.newClient('busy');
    for (let count = 0; count < RATE_LIMIT; count += 1) await busy.list({ limit: '1' });
    await swagger.logOut();
    await swagger.authorize(busy.token);
    const { status, text, explanation } = await swagger.execute('createItem');
    expect([status, text]).toEqual(['429', expect.stringMatching(/retry-after: \d+/)]);
    expect(text).toContain(`at most ${RATE_LIMIT} in 60 seconds. Retry in `);
    await explanation.scrollIntoViewIfNeeded();
    await visitor.screenshot('console-429-light');
    await explanation.click();
    await visitor.page.waitForURL(`${service.api.origin}/docs/problems#rate-limited`);
    expect(await visitor.page.locator('section:target p').last().innerText()).toContain('Wait for the number of seconds');
    await back();
    expect(visitor.refusals.splice(0)).toEqual(['429 /v1/items']);
  });
});

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  it('is readable, on a narrow screen as well', async () => {
    const reader = await Visitor.come(browser, service.api.origin, { colorScheme, viewport: { width: 390, height: 844 } });
    const console = new Console(reader.page, `${service.api.origin}/`);
    await console.open();
    await console.authorize(service.api.token);
    for (const id of ['createItem', 'listItems']) expect((await console.execute(id)).status).toMatch(/^20/);
    const background = await reader.page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    expect(background).toBe(colorScheme === 'dark' ? 'rgb(28, 32, 34)' : 'rgb(255, 255, 255)');
    expect(await reader.barriers(['color-contrast'])).toEqual([]);
    expect(await reader.page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await reader.screenshot(`console-narrow-${colorScheme}`);
    await reader.page.emulateMedia({ colorScheme: colorScheme === 'dark' ? 'light' : 'dark' });
    await reader.page.locator('html.dark-mode').waitFor({ state: colorScheme === 'dark' ? 'detached' : 'attached' });
    expect([reader.complaints, reader.refusals]).toEqual([[], []]);
    await reader.leave();
  });

  it.each([
    ['landing', ''],
    ['problems', 'docs/problems#idempotency-key-reused'],
  ])('everybody can read and reach what is on the page %s', async (name, path) => {
    const reader = await Visitor.come(browser, service.api.origin, { colorScheme });
    await reader.page.goto(`${service.api.origin}/${path}`);
    expect(await reader.barriers()).toEqual([]);
    await reader.screenshot(`${name}-${colorScheme}`);
    await reader.page.setViewportSize({ width: 390, height: 844 });
    expect(await reader.page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await reader.screenshot(`${name}-narrow-${colorScheme}`);
    // The first stop of the tabulator leads past the bar.
    await reader.page.goto(service.api.origin);
    await reader.page.keyboard.press('Tab');
    await reader.page.keyboard.press('Enter');
    expect(await reader.page.evaluate('document.activeElement.id')).toBe('content');
    expect([reader.complaints, reader.refusals]).toEqual([[], []]);
    await reader.leave();
  });
});

it('all pages lead to each other, and calls arrive, below a path of a proxy', async () => {
  const proxy = await Gateway.start(service.port, '/catalogue/items');
  const reader = await Visitor.come(browser, proxy.origin);
  const { page } = reader;
  const { token } = await service.newClient();
  const root = `${proxy.origin}/catalogue/items/`;
  await page.goto(root);
  const line = await page.locator('#call').innerText();
  expect(line).toBe(`curl -H "Authorization: Bearer $TOKEN" ${root}v1/items`);
  const { stdout } = await promisify(execFile)('bash', ['-c', line], { env: { ...process.env, TOKEN: token } });
  expect(JSON.parse(stdout)).toEqual((await service.api.list()).body);

  await page.locator('.doors a', { hasText: 'Console' }).click();
  const console = new Console(page, root);
  await console.authorize(token);
  const { status, response } = await console.execute('createItem');
  expect([status, response.url()]).toEqual(['201', `${root}v1/items`]);
  await (await console.operation('createItem')).locator('textarea').fill('{}');
  const { explanation } = await console.execute('createItem');
  await explanation.click();
  await page.waitForURL(`${root}docs/problems#invalid-body`);
  await page.locator('.index a', { hasText: 'Rate limited' }).click();
  expect(await page.locator('section:target h2').innerText()).toBe('Rate limited');
  await page.locator('.wordmark').click();
  await page.waitForURL(root);
  expect([reader.complaints, reader.refusals]).toEqual([[], ['400 /catalogue/items/v1/items']]);
  await reader.leave();
  await proxy.stop();
});
