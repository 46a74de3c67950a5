import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { IdentityProvider, type ProviderFault } from '../../../../test/support/identity-provider.js';
import { eventually } from '../../../../test/support/service.js';
import { SigningKey } from '../../../../test/support/signing-key.js';
import { readConfiguration } from '../../config/read-configuration.js';
import { describeError } from '../../observability/describe-error.js';
import { Metrics } from '../../observability/metrics.js';
import { JwtVerifier } from './jwt-verifier.js';

/** Times at which nothing happens by itself. */
const NEVER = { deadline: 60_000, pause: 600_000, interval: 600_000 };

const BODIES = ['<html>', 'null', '[]', '{"keys":{}}', '{"keys":[1]}', ' '.repeat(1024 * 1024 + 1)].map((body) => ({ body }));
const FAULTS: readonly ('away' | ProviderFault)[] = ['away', 'silent', 'half', 'cut', 'error', 'redirect', ...BODIES];

let signingKeys: SigningKey[];
let provider: IdentityProvider;
let opened: JwtVerifier[];
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
  for (const verifier of opened) verifier.onApplicationShutdown();
  await provider.stop();
});

/** A service that accepts the provider's JWTs. */
function open(times: Partial<typeof NEVER> = {}, environment: NodeJS.ProcessEnv = {}) {
  const metrics = new Metrics();
  const configuration = readConfiguration({ ...provider.environment, ...environment });
  const verifier = new JwtVerifier(configuration, metrics, { ...NEVER, ...times });
  opened.push(verifier);
  return {
    start: () => verifier.keys?.start(),
    stop: () => verifier.onApplicationShutdown(),
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

describe('the keys of the issuer', () => {
  it('are found in its metadata, once, before any JWT comes', async () => {
    provider.fail({ delay: 100 });
    const service = open();
    service.start();
    const refusals = await Promise.all(Array.from({ length: 100 }, () => service.refusal(provider.sign())));
    expect(new Set(refusals)).toEqual(new Set([undefined]));
    expect(provider.requests).toEqual({ discovery: 1, keys: 1, elsewhere: 0 });
    expect(log.mock.calls).toEqual([[{ msg: 'keys of the issuer fetched', keys: 3 }]]);
  });

  it('are found at AUTH_JWT_JWKS_URL, without metadata, and in the metadata of an issuer with a slash', async () => {
    expect(await open({}, { AUTH_JWT_JWKS_URL: provider.keysUrl }).refusal(provider.sign())).toBeUndefined();
    expect(provider.requests).toEqual({ discovery: 0, keys: 1, elsewhere: 0 });
    const iss = `${provider.issuer}/`;
    provider.metadata = { issuer: iss };
    expect(await open({}, { AUTH_JWT_ISSUER: iss }).refusal(provider.sign({ iss }))).toBeUndefined();
  });

  it.each(['success', 'failure'] as const)('are fetched once for any number of unknown ones, after a %s, too', async (result) => {
    if (result === 'failure') provider.fail('error');
    const service = open();
    const junk = Array.from({ length: 1000 }, (_, index) => provider.sign({}, { alg: 'EdDSA', kid: `unknown ${index}` }));
    const refusals = await Promise.all(junk.map((token) => service.refusal(token)));
    for (const token of junk.slice(0, 200)) refusals.push(await service.refusal(token));
    expect(new Set(refusals)).toEqual(new Set(['jwt-key']));
    expect([provider.requests.discovery, await service.fetches(result)]).toEqual([1, 1]);
  });

  it('are not fetched for JWTs of other issuers, and such that are none', async () => {
    const service = open();
    expect(await service.refusal(provider.sign({ iss: 'https://issuer.example' }))).toBe('jwt-claims');
    expect(await service.refusal('eyJhbGciOiJSUzI1NiJ9..')).toBe('jwt-form');
    expect(provider.requests).toEqual({ discovery: 0, keys: 0, elsewhere: 0 });
  });

  it('must be named where there are several for an algorithm', async () => {
    await provider.rotate(['ES256']);
    expect(await open().refusal(provider.sign({}, { alg: 'ES256', kid: null }))).toBe('jwt-key');
  });

  it('are refused within the interval once they are withdrawn', async () => {
    const service = open({ pause: 50, interval: 50 });
    const token = await provider.sign();
    expect(await service.refusal(token)).toBeUndefined();
    provider.published.shift();
    await eventually(async () => (await service.refusal(token)) === 'jwt-key');
    expect(await service.refusal(provider.sign({}, { alg: 'ES256' }))).toBeUndefined();
  });

  it('are of use, though one is not', async () => {
    const service = open();
    provider.published[0] = { ...provider.key().publicJwk, n: 'AQAB' };
    expect(await service.refusal(provider.sign({}, { alg: 'ES256' }))).toBeUndefined();
    expect(await service.refusal(provider.sign())).toBe('jwt-key');
  });

  it('are no longer fetched in the end, and a fetch under way ends', async () => {
    const service = open({ pause: 20, interval: 20 });
    service.start();
    await eventually(() => provider.requests.keys >= 3);
    provider.fail('silent');
    await eventually(() => provider.waiting === 1);
    service.stop();
    await eventually(() => provider.waiting === 0);
    const { discovery } = provider.requests;
    expect(await service.refusal(provider.sign())).toBeUndefined();
    await delay(200);
    expect([provider.requests.discovery, await service.fetches('failure'), warn.mock.calls]).toEqual([discovery, 0, []]);
  });
});

const ENDPOINTS = ['discovery', 'keys'] as const;

it.each(FAULTS.flatMap((fault) => ENDPOINTS.map((endpoint) => [JSON.stringify(fault).slice(0, 20), endpoint, fault] as const)))(
  'while the issuer fails, known keys are valid and unknown ones are not: %s, %s',
  async (_name, endpoint, fault) => {
    const service = open({ deadline: 200, pause: 50 });
    const known = await provider.sign();
    await eventually(async () => (await service.refusal(known)) === undefined);
    await provider.rotate(['ES256']);
    const unknown = await provider.sign({}, { alg: 'ES256' });
    await delay(80);
    await (fault === 'away' ? provider.leave() : provider.fail(fault, [endpoint]));
    expect([await service.refusal(unknown), await service.refusal(known)]).toEqual(['jwt-key', undefined]);
    expect(await service.fetches('failure')).toBeGreaterThan(0);

    // The timer repeats it: no JWT has to come.
    await (fault === 'away' ? provider.comeBack() : provider.recover());
    await eventually(() => log.mock.calls.length === 2);
    expect([await service.refusal(unknown), await service.refusal(known)]).toEqual([undefined, undefined]);
    expect(warnings()).toHaveLength(await service.fetches('failure'));
    expect(provider.requests.elsewhere).toBe(0);
  },
);

it('a failed fetch is logged with its URL, without the query', async () => {
  provider.fail('error');
  expect(await open({}, { AUTH_JWT_JWKS_URL: `${provider.keysUrl}?code=hunter2` }).refusal(provider.sign())).toBe('jwt-key');
  expect(warnings()).toEqual([expect.stringContaining(provider.keysUrl)]);
  expect(warnings()[0]).not.toContain('hunter2');
});

it('a fetch has one time limit for both documents', async () => {
  provider.fail({ delay: 600 });
  expect(await open({ deadline: 1000 }).refusal(provider.sign())).toBe('jwt-key');
  expect(provider.requests).toMatchObject({ discovery: 1, keys: 1 });
  expect(warnings()[0]).toContain('timeout');
});

it.each([{ issuer: 'http://127.0.0.1' }, { jwks_uri: 1 }, { jwks_uri: 'http://issuer.example/keys' }])(
  'a fetch fails with %j in the metadata, and the log says how to fix it',
  async (metadata) => {
    provider.metadata = metadata;
    expect(await open().refusal(provider.sign())).toBe('jwt-key');
    expect(warnings()).toEqual([expect.stringMatching(/AUTH_JWT_ISSUER.*jwks_uri/)]);
    expect(provider.requests.keys).toBe(0);
  },
);
