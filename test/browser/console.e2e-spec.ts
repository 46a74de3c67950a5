import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Module } from '@nestjs/common';
import type { Browser, Locator } from 'playwright-core';
import { DataSource } from 'typeorm';
import { AppModule } from '../../src/app.module.js';
import { Widget } from '../fixtures/widgets/widget.entity.js';
import { WidgetsModule } from '../fixtures/widgets/widgets.module.js';
import { startBrowser, Visitor } from '../support/browser.js';
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

beforeAll(async () => {
  service = await startService({ RATE_LIMIT: String(RATE_LIMIT) }, undefined, TwoFeaturesModule);
  contract = await Contract.read(service.api.origin);
  browser = await startBrowser();
  visitor = await Visitor.come(browser, service.api.origin);
  await visitor.openConsole();
});

afterAll(async () => {
  // The browser may not have started.
  await service.stop();
  await browser.close();
});

afterEach(async () => {
  await visitor.screenshot();
  expect(visitor.complaints).toEqual([]);
});

describe('the console', () => {
  it('introduces the service, each of its parts, its tokens and their scopes', async () => {
    const { page } = visitor;
    expect([await page.title(), await page.locator('html').getAttribute('lang')]).toEqual(['Console – Items Service', 'en']);
    expect(await page.locator('.info').innerText()).toContain('First steps');
    const sections = await page.locator('.opblock-tag').allInnerTexts();
    expect(sections.map((text) => text.replaceAll(/\s+/g, ' ').trim())).toEqual(
      contract.document.tags.map(({ name, description }) => `${name} ${description}`),
    );
    // What would lead elsewhere, or choose among one.
    expect(await page.locator('.topbar, .servers').count()).toBe(0);
    await page.locator('button.authorize').first().click();
    const scheme = await page.locator('.modal-ux .auth-container').innerText();
    for (const part of ['or a JWT of the identity provider', 'items:read: GET /v1/items', 'items:write: POST /v1/items']) {
      expect(scheme).toContain(part);
    }
    await page.locator('.modal-ux .btn-done').click();
    const description = (await visitor.operation('createItem')).locator('.opblock-description');
    expect(await description.innerText()).toContain('Needs the scope items:write, if the token is restricted to scopes.');
  });

  it('keeps a visitor authorized when the page is loaded again, until logged out', async () => {
    await visitor.authorize(service.api.token);
    await visitor.page.reload();
    expect((await visitor.execute('listItems')).status).toBe('200');
    await visitor.logOut();
    await visitor.page.reload();
    const refused = await visitor.execute('listItems');
    expect([refused.status, await visitor.isAuthorized()]).toEqual(['401', false]);
    expect(visitor.refusals.splice(0)).toEqual(['401 /v1/items']);
    expect(await visitor.page.evaluate('JSON.stringify(localStorage)')).not.toContain(service.api.token);
    await visitor.authorize(service.api.token);
  });

  it('executes every operation with what its examples have put into the fields, and uses no key twice', async () => {
    // The row that the example of its path names, whose name is free again before another one gets it.
    const widget = { id: '0190163d-8694-739b-aea5-966c26f8ad91', name: 'Bell', price: 1, size: 'small' as const, note: null };
    await service.app.get(DataSource).getRepository(Widget).insert(widget);
    const operations = contract.operations.toSorted((a, b) => Number(b.name.includes('{')) - Number(a.name.includes('{')));
    for (const id of [...operations.map(({ operation }) => operation.operationId), 'createItem']) {
      const { status, response } = await visitor.execute(id);
      expect([id, status]).toEqual([id, expect.stringMatching(/^20[0-4]$/)]);
      expect(response.headers()['idempotent-replayed']).toBeUndefined();
    }
    expect((await visitor.execute('listItems')).text.match(/"name": "Blue bicycle"/g)).toHaveLength(2);
  });

  it('leads from every documented refusal to its explanation', async () => {
    const text = await (await fetch(`${service.api.origin}/docs/problems`)).text();
    const explained = [...text.matchAll(/<section id="([^"]+)">/g)].map(([, id]) => `${service.api.origin}/docs/problems#${id}`);
    for (const { operation } of contract.operations) {
      const block = await visitor.operation(operation.operationId);
      const links = block.locator('.responses-inner .response[data-code^="4"] .response-col_description__inner a');
      const hrefs = await links.evaluateAll((all) => all.map((link) => (link as unknown as { href: string }).href));
      const refusals = Object.keys(operation.responses).filter((status) => status.startsWith('4'));
      expect(hrefs.length).toBeGreaterThanOrEqual(refusals.length);
      expect(explained).toEqual(expect.arrayContaining(hrefs));
    }
  });

  it('offers filters to choose from, each of which works', async () => {
    const { examples = {} } = contract.operation('get', '/v1/items').parameters?.find(({ name }) => name === 'filter') ?? {};
    expect(Object.keys(examples).length).toBeGreaterThan(5);
    const choice = (await visitor.operation('listItems')).locator('tr[data-param-name="filter"] select');
    for (const [label, { value }] of Object.entries(examples)) {
      await choice.selectOption(label);
      const { status, response } = await visitor.execute('listItems');
      expect([label, status]).toEqual([label, '200']);
      expect(new URL(response.url()).searchParams.get('filter') ?? '').toBe(value);
    }
  });
});

describe('a problem', () => {
  /** Follows the link to its explanation, which is in sight, and comes back. @returns the text of the explanation */
  async function follow(explanation: Locator, type: string): Promise<string> {
    await explanation.click();
    await visitor.page.waitForURL(`${service.api.origin}/docs/problems#${type}`);
    const section = visitor.page.locator('section:target');
    const { y = Infinity } = (await section.boundingBox()) ?? {};
    expect([y >= 0, y < 900]).toEqual([true, true]);
    const text = await section.innerText();
    await visitor.page.locator('.bar nav a', { hasText: 'Console' }).click();
    return text;
  }

  it('of a request that is wrong is shown, and leads to its explanation and back', async () => {
    await (await visitor.operation('listItems')).locator('tr[data-param-name="filter"] input').fill('colour == "blue"');
    const { status, text, explanation } = await visitor.execute('listItems');
    expect(status).toBe('400');
    for (const part of ['"code": "unknown_field"', 'there are id, name, description, createdAt', '"start": 0']) {
      expect(text).toContain(part);
    }
    expect(await follow(explanation, 'invalid-parameters')).toContain('Invalid parameters');
    expect(visitor.refusals.splice(0)).toEqual(['400 /v1/items']);
  });

  it('of a limit that is used up is shown with the time to wait, and leads to its explanation', async () => {
    const busy = await service.newClient('busy');
    for (let count = 0; count < RATE_LIMIT; count += 1) await busy.list({ limit: '1' });
    await visitor.logOut();
    await visitor.authorize(busy.token);
    const { status, text, explanation } = await visitor.execute('createItem');
    expect([status, text]).toEqual(['429', expect.stringMatching(/retry-after: \d+/)]);
    expect(text).toContain(`at most ${RATE_LIMIT} in 60 seconds. Retry in `);
    expect(await follow(explanation, 'rate-limited')).toContain('Wait for the number of seconds');
    expect(visitor.refusals.splice(0)).toEqual(['429 /v1/items']);
  });
});

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  let reader: Visitor;

  beforeEach(async () => {
    reader = await Visitor.come(browser, service.api.origin, { colorScheme, viewport: { width: 390, height: 844 } });
  });

  afterEach(async () => {
    await reader.screenshot();
    expect(await reader.page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    expect([reader.complaints, reader.refusals]).toEqual([[], []]);
    await reader.page.context().close();
  });

  it('the console is readable, on a narrow screen as well', async () => {
    await reader.openConsole();
    await reader.authorize(service.api.token);
    for (const id of ['createItem', 'listItems']) expect((await reader.execute(id)).status).toMatch(/^20/);
    const background = await reader.page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    expect(background).toBe(colorScheme === 'dark' ? 'rgb(28, 32, 34)' : 'rgb(255, 255, 255)');
    expect(await reader.barriers(['color-contrast'])).toEqual([]);
    await reader.page.emulateMedia({ colorScheme: colorScheme === 'dark' ? 'light' : 'dark' });
    await reader.page.locator('html.dark-mode').waitFor({ state: colorScheme === 'dark' ? 'detached' : 'attached' });
  });

  it.each(['', 'docs/problems#idempotency-key-reused'])('everybody can read and reach what is on /%s', async (path) => {
    await reader.page.goto(`${service.api.origin}/${path}`);
    expect(await reader.barriers()).toEqual([]);
    await reader.page.setViewportSize({ width: 1280, height: 900 });
    expect(await reader.barriers()).toEqual([]);
    await reader.page.setViewportSize({ width: 390, height: 844 });
    // The first stop of the tabulator leads past the bar.
    await reader.page.goto(service.api.origin);
    await reader.page.keyboard.press('Tab');
    await reader.page.keyboard.press('Enter');
    expect(await reader.page.evaluate('document.activeElement.id')).toBe('content');
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
  await reader.authorize(token);
  const { status, response } = await reader.execute('createItem');
  expect([status, response.url()]).toEqual(['201', `${root}v1/items`]);
  await (await reader.operation('createItem')).locator('textarea').fill('{}');
  await (await reader.execute('createItem')).explanation.click();
  await page.waitForURL(`${root}docs/problems#invalid-body`);
  await page.locator('.index a', { hasText: 'Rate limited' }).click();
  expect(await page.locator('section:target h2').innerText()).toBe('Rate limited');
  await page.locator('.wordmark').click();
  await page.waitForURL(root);
  expect([reader.complaints, reader.refusals]).toEqual([[], ['400 /catalogue/items/v1/items']]);
  await proxy.stop();
});
