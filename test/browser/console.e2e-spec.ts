import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { Module } from '@nestjs/common';
import type { Browser } from 'playwright-core';
import { DataSource } from 'typeorm';
import { ItemsModule } from '../../src/items/items.module.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { Widget } from '../fixtures/widgets/widget.entity.js';
import { WidgetsModule } from '../fixtures/widgets/widgets.module.js';
import { differenceOf, startBrowser, Visitor } from '../support/browser.js';
import { Contract } from '../support/contract.js';
import { Gateway } from '../support/gateway.js';
import { type Service, startService } from '../support/service.js';

// What the console promises, it promises to every module.
@Module({ imports: [PlatformModule, ItemsModule, WidgetsModule] })
class TwoFeaturesModule {}

/** The colors of statuses. */
const COLORS = {
  light: { success: 'rgb(20, 113, 63)', failure: 'rgb(179, 38, 30)' },
  dark: { success: 'rgb(111, 220, 156)', failure: 'rgb(255, 154, 148)' },
};

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

afterEach(() => expect(visitor.complaints).toEqual([]));

describe('the console', () => {
  it('keeps a visitor authorized when the page is loaded again, until logged out [console-token-kept]', async () => {
    await visitor.authorize(service.api.token);
    await visitor.reload();
    expect((await visitor.execute('listItems')).status).toBe('200');
    await visitor.logOut();
    await visitor.reload();
    const refused = await visitor.execute('listItems');
    expect([refused.status, await visitor.isAuthorized()]).toEqual(['401', false]);
    expect(visitor.refusals.splice(0)).toEqual(['401 /v1/items']);
    expect(await visitor.page.evaluate('JSON.stringify(localStorage)')).not.toContain(service.api.token);
    await visitor.authorize(service.api.token);
  });

  it('executes every operation with what its examples have put into the fields, and uses no key twice', async () => {
    // The row that the example of its path names, whose name is free again before another one gets it.
    const widget = {
      id: '0190163d-8694-739b-aea5-966c26f8ad91',
      name: 'Bell',
      price: 1,
      size: 'small' as const,
      note: null,
    };
    await service.app.get(DataSource).getRepository(Widget).insert(widget);
    const operations = contract.operations.toSorted((a, b) => Number(b.name.includes('{')) - Number(a.name.includes('{')));
    for (const id of [...operations.map(({ operation }) => operation.operationId), 'createItem']) {
      const { status, response } = await visitor.execute(id);
      expect([id, status]).toEqual([id, expect.stringMatching(/^20[0-4]$/)]);
      expect(response.headers()['idempotent-replayed']).toBeUndefined();
      await expectAtMost2500(id);
    }
    expect((await visitor.execute('listItems')).text.match(/"name": "Blue bicycle"/g)).toHaveLength(2);
  });

  async function expectAtMost2500(id: string): Promise<void> {
    const { height = Infinity } = (await (await visitor.operation(id)).boundingBox()) ?? {};
    expect([id, height <= 2500]).toEqual([id, true]);
  }

  it('shows each operation on a few screens: an error in one line, and nothing to cancel', async () => {
    await visitor.openConsole();
    for (const { operation } of contract.operations) {
      const block = await visitor.operation(operation.operationId);
      await expectAtMost2500(operation.operationId);
      const rows = block.locator('.responses-table .response:is([data-code^="4"], [data-code^="5"])');
      const heights = await rows.evaluateAll((all) =>
        all.map((row) => (row as unknown as { offsetHeight: number }).offsetHeight),
      );
      expect(heights).toHaveLength(Object.keys(operation.responses).filter((status) => /^[45]/.test(status)).length);
      expect(heights.filter((height) => height > 40)).toEqual([]);
      expect(await block.locator('.headers-wrapper').count()).toBe(1);
      expect(await block.locator('button', { hasText: 'Cancel' }).isVisible()).toBe(false);
    }
    await visitor.page.locator('.models-control').click();
    const schemas = await visitor.page.locator('.models .json-schema-2020-12__title').allInnerTexts();
    expect(schemas).toEqual(expect.arrayContaining(['Item', 'ItemPage', 'NewItem', 'Problem', 'Widget']));
    expect(schemas.filter((name) => name.includes('Dto'))).toEqual([]);
  });

  it('leads from every documented refusal to its explanation', async () => {
    const text = await (await fetch(`${service.api.origin}/docs/problems`)).text();
    const explained = [...text.matchAll(/<section id="([^"]+)">/g)].map(
      ([, id]) => `${service.api.origin}/docs/problems#${id}`,
    );
    for (const { operation } of contract.operations) {
      const block = await visitor.operation(operation.operationId);
      const links = block.locator('.responses-inner .response[data-code^="4"] .response-col_description__inner a');
      const hrefs = await links.evaluateAll((all) => all.map((link) => (link as unknown as { href: string }).href));
      const refusals = Object.keys(operation.responses).filter((status) => status.startsWith('4'));
      expect(hrefs.length).toBeGreaterThanOrEqual(refusals.length);
      expect(explained).toEqual(expect.arrayContaining(hrefs));
    }
  });

  it('offers filters to choose from, which find the item that it creates, but for the one without a description', async () => {
    const { examples = {} } = contract.operation('get', '/v1/items').parameters?.find(({ name }) => name === 'filter') ?? {};
    expect(Object.keys(examples).length).toBeGreaterThan(5);
    expect((await visitor.execute('createItem')).status).toBe('201');
    const choice = (await visitor.operation('listItems')).locator('tr[data-param-name="filter"] select');
    for (const label of Object.keys(examples)) {
      await choice.selectOption(label);
      const { status, text } = await visitor.execute('listItems');
      expect([label, status, text.includes('"name": "Blue bicycle"')]).toEqual([label, '200', label !== 'No description']);
    }
  });

  it('shows the time to wait when the limit is used up, and leads to its explanation', async () => {
    const busy = await service.newClient('busy');
    for (let count = 0; count < RATE_LIMIT; count += 1) await busy.list({ limit: '1' });
    await visitor.logOut();
    await visitor.authorize(busy.token);
    const { status, text, explanation } = await visitor.execute('createItem');
    expect([status, text]).toEqual(['429', expect.stringMatching(/retry-after: \d+/)]);
    expect(text).toContain(`limit of ${RATE_LIMIT} requests in 60 seconds. Retry in `);
    await explanation.click();
    await visitor.page.waitForURL(`${service.api.origin}/docs/problems#rate-limited`);
    expect(await visitor.page.locator('section:target').innerText()).toContain('Wait for the number of seconds');
    expect(visitor.refusals.splice(0)).toEqual(['429 /v1/items']);
  });
});

/** Rules that markup of Swagger UI itself breaks. */
const SWAGGER_UI_RULES = [
  // The field of a request body, and the choice of an example.
  'label',
  'select-name',
  // The method of an operation, in the button that opens it.
  'nested-interactive',
  // curl and examples, where they are wider than the screen.
  'scrollable-region-focusable',
  // "Schemas", and the two tables of responses.
  'heading-order',
  'landmark-unique',
  // Its landmark `main` begins below the description.
  'region',
];

it.each(['light', 'dark'] as const)('README.md shows what the console looks like in %s colors', async (colorScheme) => {
  const reader = await Visitor.come(browser, service.api.origin, { colorScheme, viewport: { width: 1000, height: 700 } });
  await reader.openConsole();
  const picture = await reader.page.screenshot();
  await reader.page.context().close();
  const path = `docs/images/console-${colorScheme}.png`;
  if (process.env['TEST_PICTURES'] !== undefined) await writeFile(path, picture);
  expect(await readFile('README.md', 'utf8')).toContain(path);
  expect(await differenceOf(browser, picture, await readFile(path))).toBeLessThan(0.02);
});

// No rule of the style sheets depends on both.
const SCREENS = [
  { colorScheme: 'light', viewport: { width: 1280, height: 900 } },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const;

describe.each(SCREENS)('in $colorScheme colors, on $viewport.width pixels,', ({ colorScheme, viewport }) => {
  let reader: Visitor;

  beforeEach(async () => {
    reader = await Visitor.come(browser, service.api.origin, { colorScheme, viewport });
  });

  afterEach(async () => {
    expect(await reader.page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
    expect([reader.complaints, reader.refusals]).toEqual([[], []]);
    await reader.page.context().close();
  });

  it('everybody can read the console: the first steps, a response and a problem', async () => {
    const { page } = reader;
    await reader.openConsole();
    await reader.picture('console');
    const boxes = await reader.boxes(page.locator('#swagger-ui'), '.info h2', '.info ol', 'button.authorize');
    expect(boxes.filter(({ y, bottom }) => y < 0 || bottom > viewport.height)).toEqual([]);
    await reader.authorize((await service.newClient()).token);
    for (const [id, body, status] of [
      ['createItem', undefined, '201'],
      ['listItems', undefined, '200'],
      ['createItem', '{}', '400'],
    ] as const) {
      const block = await reader.operation(id);
      if (body !== undefined) await block.locator('textarea').fill(body);
      expect((await reader.execute(id)).status).toBe(status);
      const live = block.locator('.live-response');
      const parts = await reader.boxes(
        live,
        'tbody .response-col_status',
        '.highlight-code pre',
        '.curl-command',
        ':scope > pre',
      );
      // The status and the start of the body are in view, the request is below them, and no button covers the body.
      expect(parts.map(({ y }) => y)).toEqual(parts.map(({ y }) => y).toSorted((a, b) => a - b));
      expect(parts[0]?.y).toBeGreaterThanOrEqual(0);
      expect(parts[1]?.bottom).toBeLessThanOrEqual(viewport.height);
      const buttons = await reader.boxes(live, '.highlight-code .copy-to-clipboard', '.highlight-code .download-contents');
      expect(buttons.filter(({ bottom }) => bottom > (parts[1]?.y ?? 0))).toEqual([]);
      const color = await reader.style(live.locator('tbody .response-col_status'), 'color');
      expect(color).toBe(COLORS[colorScheme][body === undefined ? 'success' : 'failure']);
      expect(await reader.barriers(SWAGGER_UI_RULES)).toEqual([]);
      await reader.picture(`console-${id}-${status}`);
    }
    expect(reader.refusals.splice(0)).toEqual(['400 /v1/items']);
    const background = await page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    expect(background).toBe(colorScheme === 'dark' ? 'rgb(28, 32, 34)' : 'rgb(255, 255, 255)');
    await page.emulateMedia({ colorScheme: colorScheme === 'dark' ? 'light' : 'dark' });
    await page.locator('html.dark-mode').waitFor({ state: colorScheme === 'dark' ? 'detached' : 'attached' });
  });

  it.each(['', 'docs/problems'])('everybody can read and reach what is on the page /%s', async (path) => {
    await reader.page.goto(`${service.api.origin}/${path}`);
    await reader.picture(path === '' ? 'landing' : 'problems');
    expect(await reader.barriers()).toEqual([]);
    // The first stop of the tabulator leads past the bar.
    await reader.page.keyboard.press('Tab');
    await reader.page.keyboard.press('Enter');
    expect(await reader.page.evaluate('document.activeElement.id')).toBe('content');
  });

  it('the console has the font and the width of the landing page', async () => {
    const { page } = reader;
    const look = async (text: string, block: string) => {
      const [box] = await reader.boxes(page.locator('body'), block);
      return [await reader.style(page.locator(text).first(), 'fontFamily'), box?.x, box?.right];
    };
    await page.goto(service.api.origin);
    const landing = await look('.lead', '.doors');
    expect(landing[0]).toContain('system-ui');
    await reader.openConsole();
    for (const text of ['.info h1', '.info li', '.opblock-summary-description', '.btn.authorize']) {
      expect(await look(text, '.opblock')).toEqual(landing);
    }
  });
});

it('the landing page has a button beside each command that copies it', async () => {
  const reader = await Visitor.come(browser, service.api.origin, { permissions: ['clipboard-read'] });
  await reader.page.goto(service.api.origin);
  const commands = reader.page.locator('.command');
  expect(await commands.count()).toBe(2);
  for (const command of await commands.all()) {
    await command.locator('button').click();
    expect(await command.locator('button').innerText()).toBe('Copied');
    expect(await reader.page.evaluate('navigator.clipboard.readText()')).toBe(await command.locator('code').innerText());
  }
  expect(reader.complaints).toEqual([]);
  await reader.page.context().close();
});

it('all pages lead to each other, and calls arrive, below a path of a proxy [pages-below-path]', async () => {
  const proxy = await Gateway.start(service.port, '/catalog/items');
  const reader = await Visitor.come(browser, proxy.origin);
  const { page } = reader;
  const { token } = await service.newClient();
  const root = `${proxy.origin}/catalog/items/`;
  await page.goto(root);
  const [create = '', list = ''] = await page.locator('.command code').allInnerTexts();
  const run = async (line: string) => {
    const { stdout } = await promisify(execFile)('bash', ['-c', line], { env: { ...process.env, TOKEN: token } });
    return JSON.parse(stdout) as unknown;
  };
  expect(await run(create)).toMatchObject({ name: 'Blue bicycle', description: 'Seven gears, one bell.' });
  expect(await run(list)).toEqual((await service.api.list()).body);
  for (const path of ['docs', 'docs/problems', 'openapi.json']) {
    expect((await fetch(`${root}${path}/`)).url).toBe(`${root}${path}`);
  }

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
  expect([reader.complaints, reader.refusals]).toEqual([[], ['400 /catalog/items/v1/items']]);
  await proxy.stop();
});
