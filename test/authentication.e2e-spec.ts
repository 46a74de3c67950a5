import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import type { Api } from './support/api.js';
import { sendRaw } from './support/raw-http.js';
import { eventually, type Service, startService, TESTER } from './support/service.js';

const CACHE_SECONDS = 1;

let service: Service;
let api: Api;
let tokens: AccessTokensService;

beforeAll(async () => {
  service = await startService({ TOKEN_CACHE_TTL: String(CACHE_SECONDS) });
  api = service.api;
  tokens = service.app.get(AccessTokensService);
});

afterAll(() => service.stop());

const idOf = async (wanted: string) => (await tokens.list()).find(({ name }) => name === wanted)?.id ?? '';

it.each(['DELETE /v1/items', 'OPTIONS /v1/items', 'GET /nothing', 'POST /'])('%s is refused without a token', async (request) => {
  const [method = '', path = ''] = request.split(' ');
  const { status, headers, body } = await api.send(method, path);
  expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="items"']);
  expect(body.type).toBe('/docs/problems#unauthorized');
});

describe('an access token', () => {
  it('is refused once it has expired, though it was in use', async () => {
    const client = await service.newClient('short', { expiresAt: new Date(Date.now() + 1500) });
    expect((await client.list()).status).toBe(200);
    await eventually(async () => (await client.list()).status === 401);
  });

  it('is refused within the time of the cache once it is revoked', async () => {
    const client = await service.newClient('to be revoked');
    expect((await client.list()).status).toBe(200);
    const which = { id: await idOf('to be revoked') };
    expect([await tokens.revoke(which, TESTER), await tokens.revoke(which, TESTER)]).toEqual([true, false]);
    // The time of the cache, and some more for a busy machine.
    await eventually(async () => (await client.list()).status === 401, CACHE_SECONDS + 10);
  });

  it('cannot be rotated twice, nor once it is revoked, nor by an id that no token has', async () => {
    const rotate = (id: string) => tokens.rotate(id, { overlap: 0 }, TESTER);
    await service.newClient('rotated once');
    const id = await idOf('rotated once');
    await rotate(id);
    const next = (await tokens.list()).at(-1)?.id ?? '';
    await expect(rotate(id)).rejects.toThrow(`is replaced by ${next} already`);
    await tokens.revoke({ id: next }, TESTER);
    await expect(rotate(next)).rejects.toThrow('is revoked. See');
    await expect(rotate('0190163d-8694-739b-aea5-966c26f8ad91')).rejects.toThrow('is unknown');
  });

  it('is stored as a digest, with the day of its last use', async () => {
    await api.list();
    const today = new Date().toISOString().slice(0, 10);
    await eventually(async () => (await tokens.list()).some((token) => token.name === 'test' && token.lastUsedOn === today));
    expect(JSON.stringify(await tokens.list())).not.toContain(api.token.slice(6));
  });
});

describe('authentication', () => {
  it('answers before the body has arrived', async () => {
    const head = 'POST /v1/items HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{';
    expect((await sendRaw(service.port, head)).status).toBe(401);
  });

  it('lets a client that waits for 100 Continue keep its body to itself', async () => {
    const head = (headers: string) =>
      `POST /v1/items HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\nExpect: 100-continue\r\n${headers}\r\n`;
    const refused = await sendRaw(service.port, head(''));
    expect(refused.status).toBe(401);
    expect(refused.headers).toContain('connection: close');
    expect((await sendRaw(service.port, head(`Authorization: Bearer ${api.token}\r\n`))).status).toBe(100);
  });
});
