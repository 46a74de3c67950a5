import { Api, type ProblemBody } from '../support/api.js';
import { freePort } from '../support/free-port.js';
import { startNginx } from '../support/nginx.js';
import { type Service, startService } from '../support/service.js';

// Behind nginx, which strips /catalog, as docs/configuration.md says.

let service: Service;
let root: string;

beforeAll(async () => {
  const port = await freePort();
  const PUBLIC_URL = `http://127.0.0.1:${port}/catalog`;
  service = await startService({ PUBLIC_URL });
  await startNginx([service.port], port);
  root = `${PUBLIC_URL}/`;
});

afterAll(() => service.stop());

const get = (url: string, headers: Record<string, string> = {}) => fetch(url, { headers });

/** The addresses that a page loads and links to. */
async function addressesIn(url: string): Promise<string[]> {
  const response = await get(url);
  const found = [...(await response.text()).matchAll(/ (?:href|src)="([^"#]+)"/g)].map(([, address = '']) => address);
  return found.map((address) => new URL(address, response.url).href).filter((address) => address.startsWith('http://127.'));
}

it('pages, their assets, and all that they link to are there [pages-below-path]', async () => {
  const seen = new Set<string>();
  for (let next = [root]; next.length > 0;) {
    const pages = next.filter((url) => !seen.has(url));
    pages.forEach((url) => seen.add(url));
    next = [];
    for (const url of pages) {
      expect(url).toMatch(new RegExp(`^${root}`));
      const { status, headers } = await get(url);
      expect([url, status]).toEqual([url, 200]);
      if (headers.get('content-type')?.startsWith('text/html')) next.push(...(await addressesIn(url)));
    }
  }
  const assets = [
    'console.css',
    'console.js',
    'icon.svg',
    'landing.js',
    'pages.css',
    'swagger-ui.css',
    'swagger-ui-bundle.js',
  ];
  const paths = ['', 'docs', 'docs/problems', 'openapi.json', ...assets.map((name) => `docs/assets/${name}`)];
  expect([...seen].toSorted()).toEqual(paths.map((path) => root + path).toSorted());
});

it.each(['docs', 'docs/problems', 'openapi.json'])(
  'a slash behind %s leads there, and so does the path without one',
  async (path) => {
    expect((await get(`${root}${path}/`)).url).toBe(root + path);
    expect((await get(root.slice(0, -1))).url).toBe(root);
  },
);

it('a program finds the server in openapi.json, and calls it [public-url-document]', async () => {
  const document = (await (await get(`${root}openapi.json`)).json()) as { servers: { url: string }[]; paths: object };
  const [{ url } = { url: '' }] = document.servers;
  expect([document.servers.length, `${url}/`]).toEqual([1, root]);
  const api = new Api(url, service.api.token);
  const created = await api.create({ name: 'Bell' });
  expect([created.status, (await api.list()).body.items, Object.keys(document.paths)]).toEqual([
    201,
    [created.body],
    ['/v1/items'],
  ]);
});

it('a client resolves the type of a problem, and its instance [public-url-problems]', async () => {
  const cases: [path: string, status: number, headers: Record<string, string>][] = [
    ['v1/items', 401, {}],
    ['v1/items?limit=0', 400, service.api.authorization],
    ['v1/nothing', 404, service.api.authorization],
  ];
  for (const [path, status, headers] of cases) {
    const response = await get(root + path, headers);
    const { type, instance } = (await response.json()) as ProblemBody;
    expect([response.status, new URL(instance, response.url).href]).toEqual([status, (root + path).replace(/\?.*/, '')]);
    const { hash, href } = new URL(type, response.url);
    const explanation = await get(href);
    expect([href.startsWith(`${root}docs/problems#`), explanation.status]).toEqual([true, 200]);
    expect(await explanation.text()).toContain(`<section id="${hash.slice(1)}">`);
  }
});

it('X-Forwarded-Prefix of a client changes no address [public-url-only]', async () => {
  for (const path of ['', 'docs', 'docs/', 'docs/problems', 'openapi.json', 'v1/items']) {
    const response = await get(root + path, { 'X-Forwarded-Prefix': '/evil' });
    expect([response.url, await response.text()]).toEqual([
      expect.not.stringMatching('evil'),
      expect.not.stringMatching('evil'),
    ]);
  }
});
