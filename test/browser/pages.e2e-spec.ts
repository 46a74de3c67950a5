import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { startBrowser, Visitor } from '../support/browser.js';
import { Console } from '../support/console.js';
import { PathProxy } from '../support/path-proxy.js';
import { type Service, startService } from '../support/service.js';

let service: Service;
let browser: Browser;

beforeAll(async () => {
  service = await startService();
  browser = await startBrowser();
});

afterAll(async () => {
  // The browser may not have started.
  await service.stop();
  await browser.close();
});

describe.each(['light', 'dark'] as const)('in %s colours', (colorScheme) => {
  it.each([
    ['landing', ''],
    ['problems', 'docs/problems#idempotency-key-reused'],
  ])('everybody can read and reach what is on the page %s', async (name, path) => {
    const visitor = await Visitor.come(browser, service.api.origin, { colorScheme });
    await visitor.page.goto(`${service.api.origin}/${path}`);
    expect(await visitor.barriers()).toEqual([]);
    await visitor.screenshot(`${name}-${colorScheme}`);
    await visitor.page.setViewportSize({ width: 390, height: 844 });
    expect(await visitor.page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await visitor.screenshot(`${name}-narrow-${colorScheme}`);
    // The first stop of the tabulator leads past the bar.
    await visitor.page.goto(service.api.origin);
    await visitor.page.keyboard.press('Tab');
    await visitor.page.keyboard.press('Enter');
    expect(await visitor.page.evaluate('document.activeElement.id')).toBe('content');
    expect([visitor.complaints, visitor.refusals]).toEqual([[], []]);
    await visitor.leave();
  });
});

it('all pages lead to each other, and calls arrive, below a path of a proxy', async () => {
  const proxy = await PathProxy.start(service.port, '/catalogue/items');
  const visitor = await Visitor.come(browser, proxy.origin);
  const { page } = visitor;
  await page.goto(proxy.root);
  const line = await page.locator('#call').innerText();
  expect(line).toBe(`curl -H "Authorization: Bearer $TOKEN" ${proxy.root}v1/items`);
  const { stdout } = await promisify(execFile)('bash', ['-c', line], { env: { ...process.env, TOKEN: service.api.token } });
  expect(JSON.parse(stdout)).toEqual({ items: [] });

  await page.locator('.doors a', { hasText: 'Console' }).click();
  const swagger = new Console(page, proxy.root);
  await swagger.authorize(service.api.token);
  const { status, response } = await swagger.execute('createItem');
  expect([status, response.url()]).toEqual(['201', `${proxy.root}v1/items`]);
  await (await swagger.operation('createItem')).locator('textarea').fill('{}');
  const { explanation } = await swagger.execute('createItem');
  await explanation.click();
  await page.waitForURL(`${proxy.root}docs/problems#invalid-body`);
  await page.locator('.index a', { hasText: 'Rate limited' }).click();
  expect(await page.locator('section:target h2').innerText()).toBe('Rate limited');
  await page.locator('.wordmark').click();
  await page.waitForURL(proxy.root);
  expect([visitor.complaints, visitor.refusals]).toEqual([[], ['400 /catalogue/items/v1/items']]);
  await visitor.leave();
  await proxy.stop();
});
