import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { Request } from 'express';
import { Configuration } from '../config/configuration.js';
import type { AccessTokensService } from './access-tokens.service.js';
import { BearerStrategy } from './bearer.strategy.js';
import type { StaticTokens } from './static/static-tokens.js';
import type { JwtVerifier } from './jwt/jwt-verifier.js';
import type { Verdict } from './principal.js';
import { generateToken } from './token-format.js';

const VALID: Verdict = { principal: { id: '1', familyId: '1', scopes: 'all' } };
const UNKNOWN: Verdict = { refused: 'unknown' };

const staticTokens = { tokens: new Map() } as unknown as StaticTokens;
const requestWith = (token: string) =>
  ({ headersDistinct: { authorization: [`Bearer ${token}`] }, ip: '192.0.2.1', socket: {} }) as unknown as Request;

it('remembers 10,000 valid tokens, and none that nobody issued', async () => {
  let verdict: Verdict = VALID;
  const tokens = { verify: () => Promise.resolve(verdict) } as unknown as AccessTokensService;
  const configuration = Object.assign(new Configuration(), { AUTH_FAILURE_BURST: 1_000_000 });
  const strategy = new BearerStrategy(tokens, staticTokens, {} as JwtVerifier, configuration);
  const send = async (count: number) => {
    for (let sent = 0; sent < count; sent += 1) await strategy.verify(requestWith(generateToken()));
  };
  const token = generateToken();
  const isKnown = () => strategy.immediateVerdict(requestWith(token)) !== undefined;

  expect(isKnown()).toBe(false);
  expect(await strategy.verify(requestWith(token))).toEqual(VALID);
  verdict = UNKNOWN;
  await send(10_001);
  expect(isKnown()).toBe(true);
  verdict = VALID;
  await send(9999);
  expect(isKnown()).toBe(true);
  await send(10_000);
  expect(isKnown()).toBe(false);
});

/** With a `TOKEN_CACHE_TTL` of 0.1 seconds. */
function strategyWith(verify: () => Promise<Verdict>): BearerStrategy {
  const configuration = Object.assign(new Configuration(), { TOKEN_CACHE_TTL: 0.1 });
  return new BearerStrategy({ verify } as unknown as AccessTokensService, staticTokens, {} as JwtVerifier, configuration);
}

it('remembers a valid token from the start of its look-up, whose result can be as old as that [revocation-time]', async () => {
  const strategy = strategyWith(() => delay(150, VALID));
  const request = requestWith(generateToken());
  expect(await strategy.verify(request)).toEqual(VALID);
  await delay(5);
  expect(strategy.immediateVerdict(request)).toBeUndefined();
});

it('forgets a token that expires in the millisecond of its look-up [expiry-at-once]', async () => {
  const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now());
  const strategy = strategyWith(() => Promise.resolve({ ...VALID, until: Date.now() }));
  const request = requestWith(generateToken());
  await strategy.verify(request);
  clock.mockRestore();
  await delay(5);
  expect(strategy.immediateVerdict(request)).toBeUndefined();
});

it('remembers a valid token for TOKEN_CACHE_TTL, also if the clock is set back during its look-up', async () => {
  const clock = jest.spyOn(Date, 'now');
  const verify = () => {
    clock.mockReturnValue(Date.now() - 3_600_000);
    return Promise.resolve(VALID);
  };
  const strategy = strategyWith(verify);
  const request = requestWith(generateToken());
  await strategy.verify(request);
  clock.mockRestore();
  await delay(150);
  expect(strategy.immediateVerdict(request)).toBeUndefined();
});
