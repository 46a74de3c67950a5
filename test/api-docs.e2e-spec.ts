import type { ProblemBody } from './support/api.js';
import { ServiceProcess } from './support/process.js';
import { startMeasured } from './support/scrape.js';
import { eventually } from './support/eventually.js';
import { createEmbedded } from './support/test-database.js';
import { useService } from './support/use-service.js';

// Without the pages of the documentation.

const service = useService(() => startMeasured({ API_DOCS: 'false' }));

const PATHS = ['/', '/docs', '/docs/', '/docs/problems', '/docs/problems/', '/openapi.json', '/openapi.json/'];
const ASSETS = ['console.js', 'pages.css', 'icon.svg', 'swagger-ui.css', 'swagger-ui-bundle.js'].map(
  (name) => `/docs/assets/${name}`,
);

it.each([...PATHS, ...ASSETS])('%s is as any unknown path, for all methods [docs-hidden]', async (path) => {
  /** What a client sees, without what names the path or the request. */
  const seen = async (at: string, method: string, hasToken: boolean) => {
    const { status, headers, body } = await service.api[hasToken ? 'call' : 'send'](method, at);
    const sent: Partial<ProblemBody> = { ...body };
    const problem = { ...sent, requestId: '…', instance: '…', detail: sent.detail?.replace(at, '…') };
    const names = [...headers.keys()].filter((name) => name !== 'content-length');
    return { status, names, challenge: headers.get('www-authenticate'), allow: headers.get('allow'), problem };
  };
  for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
    for (const hasToken of [false, true]) {
      const hidden = await seen(path, method, hasToken);
      expect([method, hidden.status]).toEqual([method, hasToken ? 404 : 401]);
      expect(hidden).toEqual(await seen('/nothing-is-here', method, hasToken));
    }
  }
});

it('nothing else changes: the API, probes, files of browsers, and types of problems', async () => {
  const created = await service.api.create({ name: 'Bell' });
  expect([created.status, (await service.api.list()).body.items]).toEqual([201, [created.body]]);
  for (const path of ['/livez', '/readyz', '/favicon.ico', '/robots.txt']) {
    expect([path, (await service.api.send('GET', path)).status]).toEqual([path, 200]);
  }
  const { status, body } = await service.api.list<ProblemBody>('limit=0');
  expect([status, body.type]).toEqual([400, '/docs/problems#invalid-parameters']);
  const routes = (await service.scrape())
    .of('items_http_request_duration_seconds_count')
    .map(({ labels }) => labels['route']);
  expect(routes.filter((route) => /^\/(?:docs.*|openapi.*)?$/.test(route ?? ''))).toEqual([]);
});

it.each(['json', 'pretty'])('the log of a first start names no page, in the format %s', async (LOG_FORMAT) => {
  const { environment } = await createEmbedded();
  const first = ServiceProcess.spawn({ ...environment, API_DOCS: 'false', LOG_FORMAT });
  await eventually(() => /items_\w{36}/.test(first.output.stdout) && /"list"|List:/.test(first.output.stdout));
  expect(first.output.stdout).toMatch(/\/v1\/items/);
  expect(first.output.stdout).not.toMatch(/console|\/docs/i);
  expect(await first.end('SIGTERM')).toBe(0);
});
