import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** Without them Chromium calls home, which a closed network answers with errors. */
const QUIET = ['no-sandbox', 'disable-gpu', 'disable-background-networking', 'disable-component-update', 'disable-sync'];

/** What Chromium writes to its console of every answer from 400 on, whatever the page makes of it. */
const REFUSED = /^Failed to load resource: the server responded with a status of (4\d\d) \(.*\)$/;

/** The rules of WCAG that a program can check; of the page, because it may not load scripts from elsewhere. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export function startBrowser(): Promise<Browser> {
  const { TEST_BROWSER: executablePath = '' } = process.env;
  return chromium.launch({ executablePath, args: QUIET.map((name) => `--${name}`) });
}

/** A visitor of one origin, whose browser is watched: what it complains of, and what it sends where. */
export class Visitor {
  /** Errors of the console and of scripts, requests that leave the origin, and addresses with a token. Should stay empty. */
  readonly complaints: string[] = [];
  /** Status and path of answers that the console of the browser has shown as errors. */
  readonly refusals: string[] = [];

  private constructor(
    readonly page: Page,
    private readonly context: BrowserContext,
    private readonly origin: string,
  ) {}

  static async come(browser: Browser, origin: string, options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const visitor = new Visitor(await context.newPage(), context, origin);
    visitor.watch();
    return visitor;
  }

  /** Leaves a picture of what the visitor sees now, for readers of a run. */
  async screenshot(name: string): Promise<void> {
    await this.page.screenshot({ path: `test-output/screenshots/${name}.png` });
  }

  /** What stands in the way of people who see little, or use no mouse: rule and place of each. @param rules - all, unless given */
  async barriers(rules?: readonly string[]): Promise<string[]> {
    // Not as a script of the page: its policy allows none but its own.
    await this.page.evaluate(AXE);
    const options = rules ? { runOnly: [...rules] } : {};
    return this.page.evaluate(async (given) => {
      type Results = { violations: { id: string; nodes: { target: string[] }[] }[] };
      const { axe } = globalThis as unknown as { axe: { run(options: object): Promise<Results> } };
      const { violations } = await axe.run(given);
      return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
    }, options);
  }

  leave(): Promise<void> {
    return this.context.close();
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
    this.context.on('request', (request) => this.checkAddress(request.url()));
  }

  private checkAddress(url: string): void {
    const isOwn = url.startsWith(`${this.origin}/`) || url.startsWith('data:') || url === 'about:blank';
    if (!isOwn || decodeURIComponent(url).includes('items_')) {
      this.complaints.push(url);
    }
  }
}
