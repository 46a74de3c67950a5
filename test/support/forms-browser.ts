/** A user's browser without pages: it keeps cookies, follows redirects, and submits each form as the user would. */
export class Browser {
  private readonly cookies = new Map<string, string>();

  constructor(private readonly user: string) {}

  /** Opens an address. @returns the address to which it is sent back, which starts with the given one */
  async open(url: URL, target: string): Promise<URL> {
    let next: { url: URL; form?: URLSearchParams } = { url };
    for (let pages = 0; pages < 20 && !next.url.href.startsWith(target); pages += 1) {
      const response = await this.request(next.url, next.form);
      const location = response.headers.get('Location');
      const base = next.url;
      next = location === null ? this.fillIn(await response.text(), base) : { url: new URL(location, base) };
    }
    return next.url;
  }

  private async request(url: URL, form?: URLSearchParams): Promise<Response> {
    const headers = { Cookie: [...this.cookies].map((cookie) => cookie.join('=')).join('; ') };
    const response = await fetch(url, { redirect: 'manual', headers, ...(form && { method: 'POST', body: form }) });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.cookies.set(name, value);
    }
    return response;
  }

  /** @throws Error for a page without a form, such as that of an error */
  private fillIn(page: string, base: URL): { url: URL; form: URLSearchParams } {
    const [, action] = /<form [^>]*action="([^"]+)"/.exec(page) ?? [];
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(page) ?? [];
    if (action === undefined || prompt === undefined) {
      throw new Error(`The page has no form: ${page}`);
    }
    const form = new URLSearchParams({ prompt, ...(prompt === 'login' && { login: this.user, password: 'any' }) });
    return { url: new URL(action, base), form };
  }
}
