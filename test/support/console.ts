import type { Locator, Page } from 'playwright-core';

/** Swagger UI as people use it: by what they see and press. */
export class Console {
  constructor(
    readonly page: Page,
    /** Address of `/` of the service. */
    private readonly root: string,
  ) {}

  async open(): Promise<void> {
    await this.page.goto(`${this.root}docs`);
    await this.page.locator('.opblock').first().waitFor();
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
    }
    return block;
  }

  /** Executes an operation with what stands in its fields. @returns what is shown of the response */
  async execute(id: string) {
    const block = await this.operation(id);
    const answered = this.page.waitForResponse((response) => response.url().includes('/v1/'));
    await block.locator('.execute').click();
    const response = await answered;
    const row = block.locator('.live-responses-table > tbody > tr');
    // The id of this request among its headers: the table may still hold the answer before.
    const { 'x-request-id': requestId = '' } = response.headers();
    await row.filter({ hasText: requestId }).waitFor();
    const status = await row.locator('.response-col_status').innerText();
    return { response, status: status.trim(), text: await row.innerText(), explanation: row.locator('.problem-link a') };
  }
}
