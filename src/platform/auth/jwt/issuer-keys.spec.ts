import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { eventually } from '../../../../test/support/eventually.js';
import { IdentityProvider, type ProviderFault } from '../../../../test/support/identity-provider.js';
import { SigningKey } from '../../../../test/support/signing-key.js';
import { readConfiguration } from '../../config/read-configuration.js';
import { describeError } from '../../errors/describe-error.js';
import { Metrics } from '../../observability/metrics.js';
import { JwtVerifier } from './jwt-verifier.js';

/** Times at which nothing happens by itself. */
const NEVER = { deadline: 60_000, pause: 600_000, interval: 600_000 };

const BODIES = ['<html>', 'null', '[]', '{"keys":{}}', '{"keys":[1]}'].map((body) => ({ body }));
const FAULTS: readonly ProviderFault[] = ['away', 'silent', 'half', 'error', 'redirect', ...BODIES];

let signingKeys: SigningKey[];
let provider: IdentityProvider;
let opened: JwtVerifier[];
const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);

beforeAll(async () => {
  signingKeys = await SigningKey.generateAll();
});

beforeEach(async () => {
  provider = await IdentityProvider.start(signingKeys);
  opened = [];
  warn.mockReset();
});

afterEach(() => {
  for (const verifier of opened) verifier.onApplicationShutdown();
});

/** A service that accepts the provider's JWTs. */
function open(times: Partial<typeof NEVER> = {}, environment: NodeJS.ProcessEnv = {}) {
  const metrics = new Metrics();
  const configuration = readConfiguration({ ...provider.environment, ...environment });
  const verifier = new JwtVerifier(configuration, metrics, { ...NEVER, ...times });
  opened.push(verifier);
  return {
    start: () => verifier.start(),
    stop: () => verifier.onApplicationShutdown(),
    metrics: () => metrics.registry.metrics(),
    /** @returns why a JWT is refused, or undefined */
    refusal: async (token: string | Promise<string>) => {
      const verdict = await verifier.verify(await token);
      return 'refused' in verdict ? verdict.refused : undefined;
    },
    fetches: async (result: 'success' | 'failure') => {
      const [metric] = await metrics.registry.getMetricsAsJSON();
      return metric?.values.find(({ labels }) => labels['result'] === result)?.value ?? NaN;
    },
  };
}

/** The errors in the log, as text. */
function warnings(): string[] {
  return warn.mock.calls.map(([line]) => JSON.stringify(describeError((line as { err: unknown }).err)));
}

it('finds the keys in the metadata of the issuer, once, before the first JWT', async () => {
  const service = open();
  service.start();
  const refusals = await Promise.all(Array.from({ length: 100 }, () => service.refusal(provider.sign())));
  expect(new Set(refusals)).toEqual(new Set([undefined]));
  expect(provider.requests).toEqual({ discovery: 1, keys: 1, elsewhere: 0 });
});

it('fetches the keys at the start, before there is a JWT, periodically, and no more after the shutdown', async () => {
  const service = open({ interval: 50 });
  service.start();
  await eventually(() => provider.requests.keys >= 3);
  service.stop();
  // One may be under way.
  await delay(200);
  const { keys } = provider.requests;
  await delay(200);
  expect(provider.requests.keys).toBe(keys);
});

it('counts fetches by their result', async () => {
  const service = open({ pause: 0 });
  expect(await service.refusal(provider.sign())).toBeUndefined();
  const count = (result: string) => `items_jwt_key_refreshes_total{result="${result}"}`;
  expect(await service.metrics()).toContain(`${count('success')} 1\n${count('failure')} 0\n`);
  expect(await service.metrics()).toMatch(/^# HELP items_jwt_key_refreshes_total \w+/m);
  provider.fault = 'error';
  expect(await service.refusal(provider.sign({}, { kid: 'unknown' }))).toBe('jwt-key');
  expect(await service.metrics()).toContain(`${count('failure')} 1\n`);
});

it('finds the keys at AUTH_JWT_JWKS_URL without metadata, and in the metadata of an issuer with a trailing slash', async () => {
  expect(await open({}, { AUTH_JWT_JWKS_URL: provider.keysUrl }).refusal(provider.sign())).toBeUndefined();
  expect(provider.requests).toEqual({ discovery: 0, keys: 1, elsewhere: 0 });
  const iss = `${provider.issuer}/`;
  provider.metadata = { issuer: iss };
  expect(await open({}, { AUTH_JWT_ISSUER: iss }).refusal(provider.sign({ iss }))).toBeUndefined();
});

it.each(['success', 'failure'] as const)(
  'fetches once for any number of unknown keys, also after a %s [issuer-fetches-limited]',
  async (result) => {
    if (result === 'failure') provider.fault = 'error';
    const service = open();
    const junk = Array.from({ length: 1000 }, (_, index) => provider.sign({}, { alg: 'EdDSA', kid: `unknown ${index}` }));
    const refusals = await Promise.all(junk.map((token) => service.refusal(token)));
    for (const token of junk.slice(0, 200)) refusals.push(await service.refusal(token));
    expect(new Set(refusals)).toEqual(new Set(['jwt-key']));
    expect([provider.requests.discovery, await service.fetches(result)]).toEqual([1, 1]);
  },
);

it('needs the key id of a JWT if the issuer has several keys for its algorithm [jwt-key-id]', async () => {
  provider.use([await SigningKey.generate('ES256')]);
  expect(await open().refusal(provider.sign({}, { alg: 'ES256', kid: null }))).toBe('jwt-key');
});

it('uses the other keys if one cannot be used', async () => {
  const service = open();
  provider.published[0] = { ...provider.key().publicJwk, n: 'AQAB' };
  expect(await service.refusal(provider.sign({}, { alg: 'ES256' }))).toBeUndefined();
  expect(await service.refusal(provider.sign())).toBe('jwt-key');
});

it('fetches new keys periodically, and refuses a withdrawn key from then on [issuer-key-withdrawn]', async () => {
  const service = open({ interval: 50 });
  service.start();
  const token = await provider.sign();
  expect(await service.refusal(token)).toBeUndefined();
  provider.published.shift();
  await eventually(async () => (await service.refusal(token)) === 'jwt-key');
  expect(await service.refusal(provider.sign({}, { alg: 'ES256' }))).toBeUndefined();
});

it.each(FAULTS)(
  'keeps known keys valid while the issuer fails, and refuses unknown ones: %j [issuer-keys-kept]',
  async (fault) => {
    const service = open({ deadline: 200, pause: 50 });
    const known = await provider.sign();
    // On a busy machine, a fetch may take longer than the deadline.
    await eventually(async () => (await service.refusal(known)) === undefined);
    provider.use([await SigningKey.generate('ES256')]);
    const unknown = await provider.sign({}, { alg: 'ES256' });
    provider.fault = fault;
    await eventually(async () => (await service.refusal(unknown)) === 'jwt-key' && (await service.fetches('failure')) > 0);
    expect(await service.refusal(known)).toBeUndefined();

    provider.fault = undefined;
    await eventually(async () => (await service.refusal(unknown)) === undefined);
    expect(await service.refusal(known)).toBeUndefined();
    expect(warnings()).toHaveLength(await service.fetches('failure'));
    expect(provider.requests.elsewhere).toBe(0);
  },
);

it.each<ProviderFault>(['silent', 'half', 'redirect', { milliseconds: 2000 }, ...BODIES])(
  'keeps known keys valid while the key set alone is not to be had: %j [issuer-keys-kept]',
  async (fault) => {
    const service = open({ deadline: 200, pause: 50 }, { AUTH_JWT_JWKS_URL: provider.keysUrl });
    const known = await provider.sign();
    await eventually(async () => (await service.refusal(known)) === undefined);
    const fetched = await service.fetches('success');
    provider.use([await SigningKey.generate('ES256')]);
    const unknown = await provider.sign({}, { alg: 'ES256' });
    provider.fault = fault;
    await eventually(async () => (await service.refusal(unknown)) === 'jwt-key' && (await service.fetches('failure')) > 1);
    expect([await service.refusal(known), await service.fetches('success')]).toEqual([undefined, fetched]);
    provider.fault = undefined;
    await eventually(async () => (await service.refusal(unknown)) === undefined);
  },
);

it('has one time limit for the metadata and the key set', async () => {
  provider.fault = { milliseconds: 600 };
  expect(await open({ deadline: 1000 }).refusal(provider.sign())).toBe('jwt-key');
  expect(provider.requests).toMatchObject({ discovery: 1, keys: 1 });
  expect(warnings()).toEqual([expect.stringContaining('timeout')]);
});

it('logs a failed fetch with its URL, without the query', async () => {
  provider.fault = 'error';
  expect(await open({}, { AUTH_JWT_JWKS_URL: `${provider.keysUrl}?code=hunter2` }).refusal(provider.sign())).toBe('jwt-key');
  expect(warnings()).toEqual([expect.stringContaining(`${provider.keysUrl} must respond with status 200 and JSON.`)]);
  expect(warnings()[0]).toContain('The status is 500.');
  expect(warnings()[0]).not.toContain('hunter2');
  expect(warn.mock.calls[0]?.[0]).toMatchObject({ msg: 'keys of the issuer not fetched' });
});

it('reads at most a mebibyte of a response, so that no issuer fills the memory', async () => {
  const keys = JSON.stringify({ keys: provider.published });
  const refusalWith = (size: number) => {
    provider.fault = { body: keys.padEnd(size) };
    return open({}, { AUTH_JWT_JWKS_URL: provider.keysUrl }).refusal(provider.sign());
  };
  expect([await refusalWith(2 ** 20), await refusalWith(2 ** 20 + 1)]).toEqual([undefined, 'jwt-key']);
  expect(warnings()).toEqual([expect.stringContaining('The response has more than 1048576 bytes.')]);
});

it.each([{ issuer: 'http://127.0.0.1' }, { jwks_uri: 1 }, { jwks_uri: 'http://issuer.example/keys' }])(
  'refuses metadata with %j, and logs the fix [issuer-https]',
  async (metadata) => {
    provider.metadata = metadata;
    expect(await open().refusal(provider.sign())).toBe('jwt-key');
    expect(warnings()).toEqual([expect.stringMatching(/AUTH_JWT_ISSUER.*jwks_uri/)]);
    expect(provider.requests.keys).toBe(0);
  },
);

it('fetches the keys every five minutes, unless it is told otherwise [issuer-key-withdrawn]', () => {
  const interval = jest.spyOn(globalThis, 'setInterval');
  const verifier = new JwtVerifier(readConfiguration(provider.environment), new Metrics());
  opened.push(verifier);
  verifier.start();
  expect(interval.mock.calls.map(([, milliseconds]) => milliseconds)).toContain(300_000);
  interval.mockRestore();
});
