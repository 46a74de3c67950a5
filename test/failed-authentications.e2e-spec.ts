import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { generateToken } from '../src/platform/auth/token-format.js';
import { Api } from './support/api.js';
import { runCommand } from './support/commands.js';
import { eventually } from './support/eventually.js';
import { IdentityProvider } from './support/identity-provider.js';
import { ServiceProcess } from './support/process.js';
import { startMeasured } from './support/scrape.js';
import { startService, TESTER } from './support/service.js';
import { SigningKey } from './support/signing-key.js';
import { createTestDatabase } from './support/test-database.js';
import { issueToken } from './support/tokens.js';
import { useService } from './support/use-service.js';

const FLOOD = 1_500;
const BURST = 100;
const RATE = 1;

/** A token with another checksum than it should have. */
function mistyped(): string {
  const token = generateToken();
  return token.slice(0, -1) + (token.endsWith('0') ? '1' : '0');
}

describe('a flood of bad tokens', () => {
  // A busy machine takes longer than the default for hundreds of look-ups.
  const patience = { TOKEN_CACHE_TTL: '0.5', DATABASE_CONNECTION_TIMEOUT: '60' };
  const limits = { AUTH_FAILURE_BURST: String(BURST), AUTH_FAILURE_RATE: String(RATE), ...patience };
  const service = useService(() => startMeasured({ ...limits, TRUSTED_PROXIES: '127.0.0.1,::1' }));
  let lookUps: { mock: { calls: unknown[] } };

  beforeAll(() => {
    lookUps = jest.spyOn(service.app.get(AccessTokensService), 'verify');
  });

  /** Lists with a token, as the load balancer passes it on from that address. */
  async function statusOf(token: string, address: string): Promise<number> {
    const headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': address };
    return (await service.api.send('GET', '/v1/items?limit=1', { headers })).status;
  }

  /** Sends these tokens, a hundred at a time, with a valid one in between. @returns the count of each status */
  async function flood(makeToken: () => string, address: string, valid: string, count: number) {
    const statuses = { bad: new Set<number>(), valid: new Set<number>() };
    for (let sent = 0; sent < count; sent += 100) {
      const answers = Array.from({ length: 100 }, () => statusOf(makeToken(), address));
      statuses.valid.add(await statusOf(valid, address));
      for (const status of await Promise.all(answers)) statuses.bad.add(status);
    }
    return statuses;
  }

  const refusals = async (reason: string) => (await service.scrape()).sum('items_authentication_refusals_total', { reason });

  it('with wrong checksums costs no look-up, and affects no other client [checksum-without-query]', async () => {
    const valid = (await service.newClient()).token;
    const began = performance.now();
    const { bad, valid: beside } = await flood(mistyped, '192.0.2.1', valid, 300);
    expect([bad, beside]).toEqual([new Set([401]), new Set([200])]);
    expect(await refusals('checksum')).toBe(300);
    // Those of the valid token, twice a second.
    expect(lookUps.mock.calls.length).toBeLessThanOrEqual((performance.now() - began) / 500 + 1);
  });

  it('with valid checksums costs no more look-ups than the budget, and affects no client that was authenticated before [failures-without-query] [guessing-locks-nobody-out] [failures-refuse-new-ones]', async () => {
    const { token: valid } = await service.newClient();
    expect(await statusOf(valid, '192.0.2.2')).toBe(200);
    lookUps.mock.calls.length = 0;
    const began = performance.now();
    const { bad, valid: beside } = await flood(generateToken, '192.0.2.2', valid, FLOOD);
    const seconds = (performance.now() - began) / 1000;
    expect([bad, beside]).toEqual([new Set([401]), new Set([200])]);
    const unknown = await refusals('unknown');
    expect(unknown).toBeLessThanOrEqual(BURST + RATE * seconds);
    expect(await refusals('budget')).toBe(FLOOD - unknown);
    // The others are those of the valid token, twice a second.
    expect(lookUps.mock.calls.length - unknown).toBeLessThanOrEqual(2 * seconds + 1);
    // A token that was not let in before is refused there, though it is valid, and is accepted from anywhere else.
    let late = valid;
    // On a busy machine, the budget may grow before the token is used: then it is let in.
    await eventually(async () => {
      late = (await service.newClient()).token;
      await Promise.all(Array.from({ length: 10 }, () => statusOf(generateToken(), '192.0.2.2')));
      return (await statusOf(late, '192.0.2.2')) === 401;
    });
    expect(await statusOf(late, '192.0.2.3')).toBe(200);
    expect(await statusOf(late, '192.0.2.2')).toBe(200);
  });

  /** Makes look-ups take so many milliseconds. @returns ends this */
  function slowDown(duration = 20): () => void {
    const tokens = service.app.get(AccessTokensService);
    const verify = AccessTokensService.prototype.verify.bind(tokens);
    const slow = jest.spyOn(tokens, 'verify').mockImplementation(async (token) => {
      await delay(duration);
      return verify(token);
    });
    return () => slow.mockImplementation(verify);
  }

  it.each(['192.0.2.4', '2001:db8::4'])('from %s at once costs no more look-ups than the budget', async (address) => {
    const { token: late } = await service.newClient();
    const began = performance.now();
    const before = await refusals('unknown');
    // The budget left is then less than the limit of concurrent look-ups.
    for (let sent = 0; sent < BURST - 10; sent += 10) {
      await Promise.all(Array.from({ length: 10 }, () => statusOf(generateToken(), address)));
    }
    const restore = slowDown();
    const statuses = await Promise.all(Array.from({ length: 5 * BURST }, () => statusOf(generateToken(), address)));
    restore();
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect((await refusals('unknown')) - before).toBeLessThanOrEqual(BURST + (RATE * (performance.now() - began)) / 1000);
    await eventually(async () => (await statusOf(late, address)) === 200);
  });

  it.each(['192.0.2.5', '2001:db8:5::5'])(
    'does not hold up valid new ones: more than the budget from %s at once',
    async (address) => {
      const tokens = await Promise.all(Array.from({ length: 2.5 * BURST }, async () => (await service.newClient()).token));
      // Ten failures are left.
      for (let sent = 0; sent < BURST - 10; sent += 1) await statusOf(generateToken(), address);
      const restore = slowDown();
      const statuses = await Promise.all(tokens.map((token) => statusOf(token, address)));
      restore();
      expect(new Set(statuses)).toEqual(new Set([200]));
    },
  );

  it('costs one look-up of a token for all requests that send it at the same time', async () => {
    const { token } = await service.newClient();
    lookUps.mock.calls.length = 0;
    const restore = slowDown(200);
    const began = performance.now();
    const statuses = await Promise.all(Array.from({ length: 50 }, () => statusOf(token, '192.0.2.8')));
    restore();
    expect(new Set(statuses)).toEqual(new Set([200]));
    // On a busy machine, some arrive after the time of the cache.
    expect(lookUps.mock.calls.length).toBeLessThanOrEqual(1 + Math.floor((performance.now() - began) / 500));
  });

  it('costs no look-ups of a token that was valid and is revoked, after the one that shows this [failures-without-query]', async () => {
    const { token } = await service.newClient();
    expect(await statusOf(token, '192.0.2.9')).toBe(200);
    await service.app.get(AccessTokensService).revoke({ token }, TESTER);
    await eventually(async () => (await statusOf(token, '192.0.2.9')) === 401);
    const spent = await refusals('budget');
    let began = 0;
    await eventually(async () => {
      // The budget fills again while the flood ends.
      began = performance.now();
      await Promise.all(Array.from({ length: BURST }, () => statusOf(generateToken(), '192.0.2.9')));
      return (await refusals('budget')) > spent;
    });
    const revoked = await refusals('revoked');
    for (let sent = 0; sent < 30; sent += 1) expect(await statusOf(token, '192.0.2.9')).toBe(401);
    expect((await refusals('revoked')) - revoked).toBeLessThanOrEqual(1 + (RATE * (performance.now() - began)) / 1000);
  });

  it('refuses at its address only, also a token that another address sends at the same time', async () => {
    const { token } = await service.newClient();
    lookUps.mock.calls.length = 0;
    const restore = slowDown(1000);
    const flooded = Array.from({ length: BURST }, () => statusOf(generateToken(), '192.0.2.6'));
    await eventually(() => lookUps.mock.calls.length === BURST);
    const [there, here] = await Promise.all([statusOf(token, '192.0.2.6'), statusOf(token, '192.0.2.7')]);
    restore();
    await Promise.all(flooded);
    expect([there, here]).toEqual([401, 200]);
  });
});

it('verifies no more forged JWTs than the budget, and lets in those that were valid before [guessing-locks-nobody-out]', async () => {
  const provider = await IdentityProvider.start([await SigningKey.generate('RS256')]);
  const limits = { AUTH_FAILURE_BURST: String(BURST), AUTH_FAILURE_RATE: String(RATE) };
  const service = await startMeasured({ ...limits, ...provider.environment });
  const statusOf = async (jwt: string) => (await new Api(`http://127.0.0.1:${service.port}`, jwt).list()).status;
  const valid = await provider.sign({ scope: 'items:read' });
  await eventually(async () => (await statusOf(valid)) === 200);
  const [header, , signature] = valid.split('.');
  const forge = (sub: string) => `${header}.${Buffer.from(JSON.stringify({ sub })).toString('base64url')}.${signature}`;
  const began = performance.now();
  for (let sent = 0; sent < 3 * BURST; sent += 50) {
    const forged = Array.from({ length: 50 }, (_, index) => statusOf(forge(String(sent + index))));
    expect(new Set(await Promise.all(forged))).toEqual(new Set([401]));
  }
  const refusals = await service.scrape();
  const verified = refusals.sum('items_authentication_refusals_total', { reason: 'jwt-signature' });
  expect(verified).toBeGreaterThanOrEqual(BURST);
  expect(verified).toBeLessThanOrEqual(BURST + (RATE * (performance.now() - began)) / 1000);
  expect(refusals.sum('items_authentication_refusals_total', { reason: 'budget' })).toBe(3 * BURST - verified);
  expect(await statusOf(valid)).toBe(200);
  // A renewed JWT is new, and refused at this address. On a busy machine, the budget may grow before it is sent.
  await eventually(async () => {
    await Promise.all(Array.from({ length: 10 }, (_, index) => statusOf(forge(`again ${index}`))));
    return (await statusOf(await provider.sign({ scope: 'items:read', jti: String(performance.now()) }))) === 401;
  });
  expect(await statusOf(valid)).toBe(200);
  await service.stop();
});

it('does not count JWTs while the keys of their issuer are not available, as valid ones are refused, too', async () => {
  const limits = { AUTH_FAILURE_BURST: '5', AUTH_FAILURE_RATE: '1' };
  const service = await startService({ ...limits, AUTH_JWT_ISSUER: 'http://127.0.0.1:1', AUTH_JWT_AUDIENCE: 'items' });
  const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  for (let sent = 0; sent < 20; sent += 1) {
    const jwt = `${base64url({ alg: 'RS256', kid: 'a' })}.${base64url({ sub: String(sent) })}.c2lnbmF0dXJl`;
    expect((await new Api(`http://127.0.0.1:${service.port}`, jwt).list()).status).toBe(401);
  }
  expect((await service.api.list()).status).toBe(200);
  await service.stop();
});

it('counts by the address of the connection, regardless of forged headers, and writes to the audit log once [audit-budget-once]', async () => {
  const database = await createTestDatabase();
  const known = await issueToken(database.environment, runCommand);
  const service = await ServiceProcess.startReady({
    ...database.environment,
    AUTH_FAILURE_BURST: '5',
    AUTH_FAILURE_RATE: '1',
  });
  const client = service.client(known);
  expect((await client.list()).status).toBe(200);
  for (let address = 0; address < 20; address += 1) {
    const headers = { Authorization: `Bearer ${generateToken()}`, 'X-Forwarded-For': `192.0.2.${address}` };
    expect((await client.send('GET', '/v1/items', { headers })).status).toBe(401);
  }
  expect((await client.list()).status).toBe(200);
  const unknown = await service.metric('items_authentication_refusals_total{reason="unknown"}');
  expect(unknown).toBeGreaterThanOrEqual(5);
  expect(await service.metric('items_authentication_refusals_total{reason="budget"}')).toBe(20 - (unknown ?? 0));
  expect(await service.end('SIGTERM')).toBe(0);
  const event = { context: 'Audit', actor: '127.0.0.1', reason: expect.stringContaining('TRUSTED_PROXIES') };
  expect(service.linesOf('authentication.refused-by-budget')).toEqual([expect.objectContaining(event)]);
  expect(service.linesOf('request').filter(({ refusal }) => refusal !== undefined)).toHaveLength(20);
});
