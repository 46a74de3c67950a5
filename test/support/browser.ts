import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';

/** Without them Chromium calls home, which fails in a closed network. */
const QUIET = ['no-sandbox', 'disable-gpu', 'disable-background-networking', 'disable-component-update', 'disable-sync'];

/** What Chromium writes to its console of every response from 400 on, whatever the page makes of it. */
const REFUSED = /^Failed to load resource: the server responded with a status of (4\d\d) \(.*\)$/;

/** The rules of WCAG that a program can check; of the page, because it may not load scripts from elsewhere. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export function startBrowser(): Promise<Browser> {
  const { TEST_BROWSER: executablePath = '' } = process.env;
  return chromium.launch({ executablePath, args: QUIET.map((name) => `--${name}`) });
}

/** A visitor of one origin, who uses Swagger UI by what people see and press, and whose browser is watched. */
export class Visitor {
  /** Errors of the console and of scripts, requests that leave the origin, and addresses with a token. Should stay empty. */
  readonly complaints: string[] = [];
  /** Status and path of responses that the console of the browser reports as errors. */
  readonly refusals: string[] = [];

  private constructor(
    readonly page: Page,
    private readonly origin: string,
  ) {}

  static async come(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const visitor = new Visitor(await context.newPage(), origin);
    visitor.watch();
    return visitor;
  }

  /**
   * Barriers for people who see little, or use no mouse: rule and element of each.
   *
   * @param except - rules that are not checked
   */
  async barriers(except: readonly string[] = []): Promise<string[]> {
    // Not as a script of the page: its policy allows none but its own.
    await this.page.evaluate(AXE);
    const options = { rules: Object.fromEntries(except.map((rule) => [rule, { enabled: false }])) };
    return this.page.evaluate(async (given) => {
      type Results = { violations: { id: string; nodes: { target: string[] }[] }[] };
      const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<Results> } };
      const { violations } = await axe.run(given);
      return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
    }, options);
  }

  /** Leaves a picture of the whole page in `test-output` if `TEST_PICTURES` is set. @param name - with the width and the colors added */
  async picture(name: string): Promise<void> {
    if (process.env['TEST_PICTURES'] === undefined) return;
    const isDark = await this.page.evaluate<boolean>('matchMedia("(prefers-color-scheme: dark)").matches');
    const file = `${name}-${this.page.viewportSize()?.width}-${isDark ? 'dark' : 'light'}.png`;
    await this.page.screenshot({ path: `test-output/screenshots/${file}`, fullPage: true });
  }

  /** A computed style of an element. @param property - such as `fontFamily` */
  style(element: Locator, property: string): Promise<string | undefined> {
    return element.evaluate((found, name) => {
      const window = globalThis as unknown as { getComputedStyle(of: unknown): Record<string, string> };
      return window.getComputedStyle(found)[name];
    }, property);
  }

  /** Where elements are in the window, in pixels. */
  boxes(parent: Locator, ...selectors: string[]): Promise<{ x: number; y: number; right: number; bottom: number }[]> {
    return Promise.all(
      selectors.map(async (selector) => {
        const { x = NaN, y = NaN, width = NaN, height = NaN } = (await parent.locator(selector).first().boundingBox()) ?? {};
        return { x, y, right: x + width, bottom: y + height };
      }),
    );
  }

  async openConsole(): Promise<void> {
    await this.page.goto(`${this.origin}/docs`);
    await this.page.locator('.opblock').first().waitFor();
  }

  /** Loads the page again, which opens the operation that its address names, if it names one. */
  async reload(): Promise<void> {
    await this.page.reload();
    const { hash } = new URL(this.page.url());
    await this.page
      .locator(hash === '' ? '.opblock' : '.opblock.is-open')
      .first()
      .waitFor();
  }

  async authorize(token: string): Promise<void> {
    await this.page.locator('button.authorize').first().click();
    await this.page.locator('.modal-ux input').fill(token);
    await this.page.locator('.modal-ux button.authorize').click();
    await this.page.locator('.modal-ux .btn-done').click();
  }

  async logOut(): Promise<void> {
    await this.page.locator('button.authorize').first().click();
    await this.page.locator('.modal-ux button', { hasText: 'Logout' }).click();
    await this.page.locator('.modal-ux .btn-done').click();
  }

  isAuthorized(): Promise<boolean> {
    return this.page.locator('button.authorize.locked').isVisible();
  }

  /** The part of an operation, which is opened if it is not. @param id - such as `listItems` */
  async operation(id: string): Promise<Locator> {
    const block = this.page.locator(`[id^="operations-"][id$="-${id}"]`);
    if (!(await block.locator('.opblock-body').isVisible())) {
      await block.locator('.opblock-summary-control').click();
      await block.locator('.execute').waitFor();
      await block.locator('.common').waitFor();
    }
    return block;
  }

  /** Executes an operation with what stands in its fields. @returns what the page shows of the response */
  async execute(id: string) {
    const block = await this.operation(id);
    const answered = this.page.waitForResponse((response) => response.url().includes('/v1/'));
    await block.locator('.execute').click();
    const response = await answered;
    const row = block.locator('.live-responses-table > tbody > tr');
    // The id of this request among its headers: the table may still hold the response before.
    const { 'x-request-id': requestId = '' } = response.headers();
    await row.filter({ hasText: requestId }).waitFor();
    const status = await row.locator('.response-col_status').innerText();
    return { response, status: status.trim(), text: await row.innerText(), explanation: row.locator('.problem-link a') };
  }

  private watch(): void {
    this.page.on('console', (message) => {
      const [, status] = REFUSED.exec(message.text()) ?? [];
      const { pathname } = new URL(message.location().url, this.origin);
      if (status !== undefined && pathname.includes('/v1/')) {
        this.refusals.push(`${status} ${pathname}`);
      } else if (['error', 'warning'].includes(message.type())) {
        this.complaints.push(message.text());
      }
    });
    this.page.on('pageerror', ({ message }) => this.complaints.push(message));
    this.page.on('websocket', (socket) => this.complaints.push(socket.url()));
    this.page.on('framenavigated', (frame) => this.checkAddress(frame.url()));
    this.page.context().on('request', (request) => this.checkAddress(request.url()));
  }

  private checkAddress(url: string): void {
    const isOwn = url.startsWith(`${this.origin}/`) || url.startsWith('data:') || url === 'about:blank';
    if (!isOwn || decodeURIComponent(url).includes('items_')) {
      this.complaints.push(url);
    }
  }
}

/** Draws both pictures with 64 × 64 points, in which the fonts of another version of the browser look alike. */
const COMPARE = `async (pictures) => {
  const [a, b] = await Promise.all(pictures.map(async (picture) => {
    const bitmap = await createImageBitmap(await (await fetch('data:image/png;base64,' + picture)).blob());
    const context = new OffscreenCanvas(64, 64).getContext('2d');
    context.drawImage(bitmap, 0, 0, 64, 64);
    return context.getImageData(0, 0, 64, 64).data;
  }));
  return a.reduce((sum, value, index) => sum + Math.abs(value - b[index]), 0) / a.length / 255;
}`;

/** How much two pictures differ on average, from 0 to 1. */
export async function differenceOf(browser: Browser, ...pictures: [Buffer, Buffer]): Promise<number> {
  const page = await browser.newPage();
  const texts = pictures.map((picture) => picture.toString('base64'));
  const difference = await page.evaluate<number>(`(${COMPARE})(${JSON.stringify(texts)})`);
  await page.close();
  return difference;
}
