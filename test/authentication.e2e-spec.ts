import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { generateToken } from '../src/platform/auth/token-format.js';
import type { Api } from './support/api.js';
import { sendRaw } from './support/raw-http.js';
import { eventually, type Service, startService, TESTER } from './support/service.js';

const CACHE_SECONDS = 1;

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await startService({ TOKEN_CACHE_TTL: String(CACHE_SECONDS) });
  api = service.api;
});

afterAll(() => service.stop());

const routes = [
  ['GET', '/v1/items'],
  ['POST', '/v1/items'],
  ['GET', '/v1/nothing'],
  ['DELETE', '/v1/items'],
  ['OPTIONS', '/v1/items'],
  ['GET', '/nothing'],
  ['POST', '/'],
] as const;

const missing = 'Bearer realm="items"';
const invalid = 'Bearer realm="items", error="invalid_token"';

it.each(routes)('%s %s responds with 401 and a challenge to requests without a valid token', async (method, path) => {
  const tokens = [undefined, generateToken(), `${api.token.slice(0, -1)}-`];
  for (const token of tokens) {
    const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const answer = await api.send(method, path, { headers });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe(token === undefined ? missing : invalid);
    expect(answer.headers.get('ratelimit')).toBeNull();
    expect(answer.body.type).toBe('/docs/problems#unauthorized');
  }
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
    const tokens = service.app.get(AccessTokensService);
    const token = (await tokens.list()).find(({ name }) => name === 'to be revoked');
    const which = { id: token?.id ?? '' };
    expect(await tokens.revoke(which, TESTER)).toBe(true);
    expect(await tokens.revoke(which, TESTER)).toBe(false);
    // The time of the cache, and some more for a busy machine.
    await eventually(async () => (await client.list()).status === 401, CACHE_SECONDS + 10);
  });

  it('cannot be rotated twice, nor once it is revoked, nor by an id that no token has', async () => {
    const tokens = service.app.get(AccessTokensService);
    const rotate = (id: string) => tokens.rotate(id, { overlap: 0 }, TESTER);
    await service.newClient('rotated once');
    const id = (await tokens.list()).find(({ name }) => name === 'rotated once')?.id ?? '';
    await rotate(id);
    const next = (await tokens.list()).at(-1)?.id ?? '';
    await expect(rotate(id)).rejects.toThrow(`rotated already, into ${next}`);
    await tokens.revoke({ id: next }, TESTER);
    await expect(rotate(next)).rejects.toThrow('is revoked: issue a new one');
    await expect(rotate('0190163d-8694-739b-aea5-966c26f8ad91')).rejects.toThrow('No token has the id');
  });

  it('is stored as a digest, with the day of its last use', async () => {
    await api.list();
    const tokens = service.app.get(AccessTokensService);
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
