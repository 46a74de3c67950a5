import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { exportJWK, type JWK } from 'jose';
import { type Endpoint, IdentityProvider, type ProviderFault } from '../../../../test/support/identity-provider.js';
import { eventually } from '../../../../test/support/service.js';
import { SigningKey } from '../../../../test/support/signing-key.js';
import { readConfiguration } from '../../config/read-configuration.js';
import { describeError } from '../../observability/describe-error.js';
import { Metrics } from '../../observability/metrics.js';
import { IssuerKeys, type RenewalTimes } from './issuer-keys.js';
import { JwtVerifier } from './jwt-verifier.js';

/** Times at which nothing happens by itself. */
const NEVER = { deadline: 60_000, pause: 600_000, interval: 600_000 };

let signingKeys: SigningKey[];
let provider: IdentityProvider;
let opened: IssuerKeys[];
const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
const log = jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);

beforeAll(async () => {
  signingKeys = await SigningKey.generateAll();
});

beforeEach(async () => {
  provider = await IdentityProvider.start(signingKeys);
  opened = [];
  warn.mockReset();
  log.mockReset();
});

afterEach(async () => {
  opened.forEach((keys) => keys.stop());
  await provider.stop();
});

/** What is observed of a service that accepts the provider's JWTs. */
function open(times: Partial<RenewalTimes> = {}, environment: NodeJS.ProcessEnv = {}) {
  const configuration = readConfiguration({ ...provider.environment, ...environment });
  const metrics = new Metrics();
  const keys = new IssuerKeys(configuration, metrics, { ...NEVER, ...times });
  opened.push(keys);
  const verifier = new JwtVerifier(configuration, keys);
  return {
    keys,
    verifier,
    /** @returns why it was refused, or undefined */
    refusal: async (token: string | Promise<string>) => {
      const verdict = await verifier.verify(await token);
      return 'refused' in verdict ? verdict.refused : undefined;
    },
    refreshes: async (result: 'success' | 'failure') => {
      const [metric] = await metrics.registry.getMetricsAsJSON();
      return metric?.values.find(({ labels }) => labels['result'] === result)?.value ?? NaN;
    },
  };
}

/** What the log tells of the failures. */
function warnings(): { msg: string; reason: string }[] {
  return warn.mock.calls.map(([line]) => {
    const { msg, err } = line as { msg: string; err: unknown };
    return { msg, reason: JSON.stringify(describeError(err)) };
  });
}

/** JWTs with keys that nobody has. */
function junk(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => provider.sign({}, { alg: 'EdDSA', kid: `unknown ${index}` })));
}

describe('the keys of the issuer', () => {
  it('are found in its metadata, once, before any JWT comes', async () => {
    const service = open();
    service.verifier.start();
    await eventually(() => service.refreshes('success').then((count) => count === 1));
    expect(await service.refusal(provider.sign())).toBeUndefined();
    expect(provider.requests).toEqual({ discovery: 1, keys: 1, elsewhere: 0 });
    expect(log.mock.calls).toEqual([[{ msg: 'keys of the issuer fetched', usable: 3 }]]);
  });

  it('are found at AUTH_JWT_JWKS_URL, without any metadata', async () => {
    const service = open({}, { AUTH_JWT_JWKS_URL: provider.keysUrl });
    expect(await service.refusal(provider.sign())).toBeUndefined();
    expect(provider.requests).toEqual({ discovery: 0, keys: 1, elsewhere: 0 });
  });

  it('are found though the name of the issuer ends with a slash', async () => {
    const issuer = `${provider.issuer}/`;
    provider.metadata = { issuer };
    const service = open({}, { AUTH_JWT_ISSUER: issuer });
    expect(await service.refusal(provider.sign({ iss: issuer }))).toBeUndefined();
    expect(provider.requests).toEqual({ discovery: 1, keys: 1, elsewhere: 0 });
    expect(await service.refusal(provider.sign())).toBe('jwt-claims');
  });

  it('are waited for by JWTs that come before them', async () => {
    provider.fail({ delay: 100 });
    // One attempt at a time, were the next one due or not.
    const service = open({ pause: 1 });
    service.verifier.start();
    await delay(10);
    const refusals = await Promise.all(Array.from({ length: 100 }, () => service.refusal(provider.sign())));
    expect(new Set(refusals)).toEqual(new Set([undefined]));
    expect(provider.requests).toMatchObject({ discovery: 1, keys: 1 });
  });

  it('are renewed when a JWT names a new one, and the old ones stay', async () => {
    const service = open({ pause: 1 });
    const before = await provider.sign();
    expect(await service.refusal(before)).toBeUndefined();
    await provider.rotate(['ES256']);
    expect(await service.refusal(provider.sign({}, { alg: 'ES256' }))).toBeUndefined();
    expect(await service.refusal(before)).toBeUndefined();
    expect(await service.refreshes('success')).toBe(2);
  });

  it('are renewed once for a thousand unknown ones at a time', async () => {
    const pause = 500;
    const service = open({ pause });
    const tokens = await junk(1000);
    expect(await service.refusal(provider.sign())).toBeUndefined();
    await delay(pause);
    provider.fail({ delay: 50 });
    const refusals = await Promise.all(tokens.map((token) => service.refusal(token)));
    expect(new Set(refusals)).toEqual(new Set(['jwt-key']));
    expect(provider.requests).toMatchObject({ discovery: 2, keys: 2 });
  });

  it('are not renewed for unknown ones during the pause, though the last renewal failed', async () => {
    const tokens = await junk(200);
    for (const fault of [undefined, 'error'] as const) {
      if (fault) provider.fail(fault);
      const service = open();
      service.verifier.start();
      const { discovery } = provider.requests;
      for (const token of tokens) expect(await service.refusal(token)).toBe('jwt-key');
      expect(provider.requests.discovery - discovery).toBeLessThanOrEqual(1);
      expect((await service.refreshes('success')) + (await service.refreshes('failure'))).toBe(1);
    }
  });

  it('are renewed no more often than that, whatever happens', async () => {
    const pause = 100;
    const began = performance.now();
    const service = open({ pause, interval: pause, deadline: 50 });
    const [token = ''] = await junk(1);
    const faults: ProviderFault[] = ['error', 'silent', { delay: 20 }, 'cut'];
    let attempts = 0;
    for (let round = 0; attempts < 12; round += 1) {
      provider.fail(faults[round % faults.length] ?? 'error');
      expect(await service.refusal(token)).toBe('jwt-key');
      await delay(1);
      attempts = (await service.refreshes('success')) + (await service.refreshes('failure'));
    }
    expect((attempts - 1) * pause).toBeLessThanOrEqual(performance.now() - began);
  });

  it('are not asked for by JWTs of other issuers, and such that are none', async () => {
    const service = open();
    expect(await service.refusal(provider.sign({ iss: 'https://issuer.example' }))).toBe('jwt-claims');
    expect(await service.refusal('eyJhbGciOiJSUzI1NiJ9.e30.')).toBe('jwt-claims');
    expect(await service.refusal('eyJhbGciOiJSUzI1NiJ9..')).toBe('jwt-form');
    expect(provider.requests).toEqual({ discovery: 0, keys: 0, elsewhere: 0 });
  });
});

describe.each<[string, ProviderFault | 'away']>([
  ['is away', 'away'],
  ['is silent', 'silent'],
  ['falls silent', 'half'],
  ['takes ages', 'trickle'],
  ['is slow', { delay: 3_600_000 }],
  ['breaks connections', 'cut'],
  ['answers with garbage', 'garbage'],
  ['answers with an error', 'error'],
  ['redirects', 'redirect'],
  ['answers with more than is read', 'huge'],
])('while the issuer %s', (_case, fault) => {
  it.each<Endpoint>(['discovery', 'keys'])(
    'known keys are good, unknown ones are refused, and all is well after it: %s',
    async (endpoint) => {
      const service = open({ deadline: 200, pause: 50 });
      const known = await provider.sign();
      await eventually(async () => (await service.refusal(known)) === undefined);
      await provider.rotate(['ES256']);
      const unknown = await provider.sign({}, { alg: 'ES256' });
      await delay(50);
      await (fault === 'away' ? provider.leave() : provider.fail(fault, [endpoint]));

      expect(await service.refusal(unknown)).toBe('jwt-key');
      expect(await service.refusal(known)).toBeUndefined();
      expect(await service.refreshes('failure')).toBeGreaterThan(0);
      expect(provider.requests.elsewhere).toBe(0);

      await (fault === 'away' ? provider.comeBack() : provider.recover());
      await eventually(async () => (await service.refusal(unknown)) === undefined);
      expect(await service.refusal(known)).toBeUndefined();
      expect(warnings()).toHaveLength(await service.refreshes('failure'));
      expect(new Set(warnings().map(({ msg }) => msg))).toEqual(new Set(['keys of the issuer not fetched']));
      expect(log).toHaveBeenCalledTimes(2);
    },
  );
});

describe('an attempt to renew the keys', () => {
  it('has one deadline for both documents', async () => {
    provider.fail({ delay: 600 });
    const service = open({ deadline: 1000 });
    expect(await service.refusal(provider.sign())).toBe('jwt-key');
    expect(provider.requests).toMatchObject({ discovery: 1, keys: 1 });
    expect(warnings()[0]?.reason).toContain('No answer within 1000 ms.');
  });

  it.each<ProviderFault>(['silent', 'half', 'trickle'])('hangs up at the deadline: %s', async (fault) => {
    provider.fail(fault);
    expect(await open({ deadline: 200 }).refusal(provider.sign())).toBe('jwt-key');
    await eventually(() => provider.waiting === 0);
  });

  it('is made again after the pause when it failed, without a JWT that asks for it', async () => {
    await provider.leave();
    const service = open({ pause: 100 });
    service.verifier.start();
    await eventually(async () => (await service.refreshes('failure')) >= 2);
    await provider.comeBack();
    await eventually(async () => (await service.refreshes('success')) === 1);
    expect(log).toHaveBeenCalledTimes(1);
  });

  it('reads answers of up to 1 MiB', async () => {
    provider.fail({ body: { keys: provider.published, padding: 'x'.repeat(1_000_000) } }, ['keys']);
    expect(await open().refusal(provider.sign())).toBeUndefined();
  });

  it.each<[string, (issuer: string) => Record<string, unknown>, RegExp]>([
    ['of another issuer', () => ({ issuer: 'https://issuer.example' }), /AUTH_JWT_ISSUER/],
    ['of the issuer with a slash', (issuer) => ({ issuer: `${issuer}/` }), /AUTH_JWT_ISSUER/],
    ['of no issuer', () => ({ issuer: undefined }), /AUTH_JWT_ISSUER/],
    ['without a place of keys', () => ({ jwks_uri: undefined }), /jwks_uri/],
    ['with a number for the place of keys', () => ({ jwks_uri: 1 }), /jwks_uri/],
    ['with a place of keys that cannot be believed', () => ({ jwks_uri: 'http://issuer.example/keys' }), /jwks_uri/],
    ['with a file for the place of keys', () => ({ jwks_uri: 'file:///etc/keys' }), /jwks_uri/],
  ])('fails with metadata %s, and says what to mend', async (_case, metadata, message) => {
    provider.metadata = metadata(provider.issuer);
    const service = open();
    expect(await service.refusal(provider.sign())).toBe('jwt-key');
    expect(await service.refreshes('failure')).toBe(1);
    expect(warnings()[0]?.reason).toMatch(message);
    expect(provider.requests.keys).toBe(0);
  });

  it.each([null, [], 'keys', {}, { keys: {} }, { keys: [1] }, { keys: [null] }])(
    'fails with the key set %j, and the known keys stay',
    async (body) => {
      const service = open({ pause: 1 });
      expect(await service.refusal(provider.sign())).toBeUndefined();
      provider.fail({ body }, ['keys']);
      const [unknown = ''] = await junk(1);
      await delay(1);
      expect(await service.refusal(unknown)).toBe('jwt-key');
      expect(await service.refreshes('failure')).toBeGreaterThan(0);
      expect(await service.refusal(provider.sign())).toBeUndefined();
    },
  );

  it('shows no query of a URL in the log', async () => {
    const faults: ProviderFault[] = ['garbage', 'error', 'cut', 'huge', { body: [] }];
    for (const fault of faults) {
      provider.fail(fault);
      expect(await open({}, { AUTH_JWT_JWKS_URL: `${provider.keysUrl}?code=hunter2` }).refusal(provider.sign())).toBe('jwt-key');
    }
    expect(warnings()).toHaveLength(faults.length);
    for (const { reason } of warnings()) {
      expect(reason).toContain(provider.keysUrl);
      expect(reason).not.toMatch(/hunter2|html/);
    }
  });

  it('is not made on behalf of the request that gave rise to it', async () => {
    provider.fail('error');
    const service = open({ pause: 20 });
    const storage = new AsyncLocalStorage<string>();
    const contexts: (string | undefined)[] = [];
    warn.mockImplementation(() => void contexts.push(storage.getStore()));
    const token = await provider.sign();
    await storage.run('request', () => service.refusal(token));
    await eventually(() => contexts.length >= 3);
    expect(new Set(contexts)).toEqual(new Set([undefined]));
  });
});

describe('a key that the issuer withdraws', () => {
  it('is refused within the interval', async () => {
    const service = open({ pause: 50, interval: 50 });
    const token = await provider.sign();
    expect(await service.refusal(token)).toBeUndefined();
    provider.withdraw(provider.key().kid);
    await eventually(async () => (await service.refusal(token)) === 'jwt-key');
    expect(await service.refusal(provider.sign({}, { alg: 'ES256' }))).toBeUndefined();
    provider.published = [];
    await eventually(async () => (await service.refusal(provider.sign({}, { alg: 'ES256' }))) === 'jwt-key');
    expect(await service.refreshes('failure')).toBe(0);
    expect(warn).not.toHaveBeenCalled();
    expect(log).toHaveBeenCalledTimes(1);
  });
});

describe('a key that is not fit', () => {
  const unfitKeys: [string, (key: SigningKey) => JWK | Promise<JWK>][] = [
    ['private', async (key) => ({ ...key.publicJwk, ...(await exportJWK(key.privateKey)) })],
    ['for encryption', (key) => ({ ...key.publicJwk, use: 'enc' })],
    ['for another algorithm', (key) => ({ ...key.publicJwk, alg: 'RS512' })],
    ['for other operations', (key) => ({ ...key.publicJwk, key_ops: ['sign'] })],
    ['incomplete', ({ publicJwk: { n: _n, ...rest } }) => rest],
    ['of 512 bits', (key) => ({ ...key.publicJwk, n: key.publicJwk.n?.slice(0, 86) ?? '' })],
    ['symmetric', ({ kid }) => ({ kty: 'oct', kid, k: 'c2VjcmV0' })],
    ['of an unknown kind', ({ kid }) => ({ kty: 'unknown', kid })],
  ];

  it.each(unfitKeys)('is left out, and the others are used: %s', async (_case, unfit) => {
    const service = open({}, { AUTH_JWT_JWKS_URL: provider.keysUrl });
    provider.published = [...provider.published.slice(1), await unfit(provider.key())];
    expect(await service.refusal(provider.sign({}, { alg: 'ES256' }))).toBeUndefined();
    expect(await service.refusal(provider.sign())).toBe('jwt-key');
    expect(await service.refusal(provider.sign({}, { kid: null }))).toBe('jwt-key');
    expect(log.mock.calls).toEqual([[{ msg: 'keys of the issuer fetched', usable: 2 }]]);
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('the end', () => {
  it('ends the renewals', async () => {
    const service = open({ pause: 20, interval: 20 });
    service.verifier.start();
    await eventually(() => provider.requests.keys >= 3);
    service.keys.onApplicationShutdown();
    // The last request may still be on its way.
    await delay(200);
    const { keys } = provider.requests;
    const token = await provider.sign();
    expect(await service.refusal(token)).toBeUndefined();
    await provider.rotate(['ES256']);
    expect(await service.refusal(provider.sign({}, { alg: 'ES256' }))).toBe('jwt-key');
    await delay(200);
    expect(provider.requests.keys).toBe(keys);
  });

  it('ends the renewal that is under way, and those who wait for it', async () => {
    provider.fail('silent');
    const service = open();
    service.verifier.start();
    const refusal = service.refusal(provider.sign());
    await eventually(() => provider.waiting === 1);
    service.keys.stop();
    expect(await refusal).toBe('jwt-key');
    await eventually(() => provider.waiting === 0);
    expect(await service.refreshes('failure')).toBe(0);
    expect(warn).not.toHaveBeenCalled();
  });
});
