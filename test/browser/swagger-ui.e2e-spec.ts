import { type Browser, chromium, type Page } from 'playwright-core';
import { type Service, startService } from '../support/service.js';

/** Without them Chromium calls home, which a closed network answers with errors. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

let service: Service;
let browser: Browser;
let page: Page;
const complaints: string[] = [];

beforeAll(async () => {
  service = await startService();
  const { TEST_BROWSER: executablePath = '' } = process.env;
  browser = await chromium.launch({ executablePath, args: QUIET });
  page = await browser.newPage();
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!request.url().startsWith(service.api.origin) && !request.url().startsWith('data:')) complaints.push(request.url());
  });
});

afterAll(async () => {
  // The browser may not have started.
  await service.stop();
  await browser.close();
});

/** Executes an operation with its example, as a visitor would. @returns status and body as the page shows them */
async function execute(operation: string): Promise<{ status: string; body: string }> {
  const block = page.locator(`#operations-Items-${operation}`);
  await block.locator('.opblock-summary').click();
  await block.locator('.try-out__btn').click();
  await block.locator('.execute').click();
  const answer = block.locator('.live-responses-table tbody tr').first();
  const status = await answer.locator('.response-col_status').innerText();
  return { status: status.trim(), body: await answer.locator('.response-col_description').innerText() };
}

/** What the page says of an operation that is open. */
function noteOf(operation: string): Promise<string> {
  return page.locator(`#operations-Items-${operation} .opblock-description`).innerText();
}

it('lets a visitor authorize, create an item and list it, without a word of complaint from the browser', async () => {
  await page.goto(`${service.api.origin}/docs`);
  await page.locator('.opblock').first().waitFor();
  expect(await page.locator('.title').first().innerText()).toContain('Items Service');
  await page.locator('button.authorize').first().click();
  const scheme = await page.locator('.modal-ux .auth-container').innerText();
  for (const part of ['or a JWT of the identity provider', 'items:read: GET /v1/items', 'items:write: POST /v1/items']) {
    expect(scheme).toContain(part);
  }
  await page.locator('.modal-ux input').fill(service.api.token);
  await page.locator('.modal-ux button.authorize').click();
  await page.locator('.modal-ux .btn-done').click();

  const created = await execute('createItem');
  expect(await noteOf('createItem')).toContain('Needs the scope items:write, if the token is restricted to scopes.');
  expect([created.status, created.body]).toEqual(['201', expect.stringContaining('Blue bicycle')]);
  const listed = await execute('listItems');
  expect(await noteOf('listItems')).toContain('Needs the scope items:read, if the token is restricted to scopes.');
  expect([listed.status, listed.body]).toEqual(['200', expect.stringContaining('Blue bicycle')]);

  // A visitor chooses a filter among the examples.
  const list = page.locator('#operations-Items-listItems');
  await list.locator('tr[data-param-name="filter"] select').selectOption('With a certain name');
  const answered = page.waitForResponse((response) => response.url().includes('filter='));
  await list.locator('.execute').click();
  const answer = await answered;
  expect(new URL(answer.url()).searchParams.get('filter')).toBe('name == "Blue bicycle"');
  expect(await answer.json()).toEqual({ items: [expect.objectContaining({ name: 'Blue bicycle' })] });

  await page.goto(`${service.api.origin}/docs/problems#rate-limited`);
  expect(await page.locator('#rate-limited h2').innerText()).toBe('Rate limited');
  expect(complaints).toEqual([]);
});
