import { execFileSync } from 'node:child_process';
import { mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { v5 } from 'uuid';
import { eventually } from '../../../../test/support/eventually.js';
import { Configuration } from '../../config/configuration.js';
import { OperatorError } from '../../errors/operator-error.js';
import { Metrics } from '../../observability/metrics.js';
import { tokenDigest, generateToken } from '../token-format.js';
import { StaticTokens, parseTokensFile } from './static-tokens.js';

const [token, other] = [generateToken(), generateToken()];
const hex = tokenDigest(token);
const mistyped = `${token.slice(0, -1)}${token.endsWith('a') ? 'b' : 'a'}`;
const id = v5(hex, 'ded3dc31-2308-4a1e-9bd0-7047068ef6cf');

it.each([
  [`ci:${token}`, { name: 'ci', scopes: 'all' }],
  [`\ufeff# by team\r\n\n   # old:${other}\r\nthe nightly job #2:${hex}\r\n`, { name: 'the nightly job #2', scopes: 'all' }],
  [`ci:${hex.toUpperCase()}:items:read`, { name: 'ci', scopes: ['items:read'] }],
  [`ci:${token}: items:write  items:read items:read `, { name: 'ci', scopes: ['items:read', 'items:write'] }],
  [`ci:${token}:limit=1`, { name: 'ci', scopes: 'all', rateLimit: 1 }],
  [`ci:${hex}: Limit = 10000 :limits:read`, { name: 'ci', scopes: ['limits:read'], rateLimit: 10_000 }],
])('reads a token, with the same id in every process: %#', (content, expected) => {
  const declared = new Map([[tokenDigest(token), { id, familyId: id, ...expected }]]);
  expect(parseTokensFile(content)).toEqual({ tokens: declared, faults: [] });
});

it.each([
  [/^has an invalid name/, [`  :${token}`, `c\ti:${token}`]],
  [/^needs a token or/, ['ci', 'ci:', `ci:${mistyped}`, `ci: ${token}`, `ci:${hex.slice(1)}`, `ci:${hex}0`]],
  [/^has no scopes after its last colon/, [`ci:${token}:  `, `ci:${token}:limit=5:`]],
  [
    /^has an invalid limit: write limit= and a whole number from 1 to 10000, and a colon before scopes$/,
    ['', '0', '-1', '1.5', '1e3', '10001', 'null', '"100"', '07', '5 items:read', token].map(
      (limit) => `ci:${token}:limit=${limit}`,
    ),
  ],
  [
    /^has its limit in the wrong field/,
    ['items:read limit=5', 'limit=5:limit=6', 'items:read:limit=5', 'items:read LIMIT=5'].map(
      (rest) => `ci:${token}:${rest}`,
    ),
  ],
  [/^has an invalid scope/, [`ci:${token}:items:"read"`, `ci:${token}:items:lésen`]],
  [
    /^has a token .* in the wrong field/,
    [token, `${mistyped}:${hex}`, `${hex}:${token}`, `ci:${hex}:items:read ${mistyped}`],
  ],
  [/^repeats the token of an earlier line/, [`ci:${other}`]],
])('names an invalid line by its number and does not quote it: %s', (fault, lines) => {
  for (const line of lines) {
    const { faults } = parseTokensFile(`# first\nfine:${other}\n${line}\n`);
    expect(faults.map((text) => text.replace('line 3 ', ''))).toEqual([expect.stringMatching(fault)]);
    for (const part of [token, mistyped, other, hex, 'lésen']) expect(faults.join('\n')).not.toContain(part);
  }
});

it('refuses a limit of which a process has no part, unless Redis counts', () => {
  const faultsOf = (limit: number, REDIS_URL?: string) =>
    parseTokensFile(`ci:${token}:limit=${limit}`, Object.assign(new Configuration(), { RATE_LIMIT_REPLICAS: 4, REDIS_URL }))
      .faults;
  expect(faultsOf(3)).toEqual([
    expect.stringMatching(/^line 1 has a limit below RATE_LIMIT_REPLICAS.*: write 4 or more, or set REDIS_URL$/),
  ]);
  expect([...faultsOf(4), ...faultsOf(3, 'redis://cache')]).toEqual([]);
});

it('names the first 100 invalid lines of a file of another format, and hides none behind another', () => {
  const { faults } = parseTokensFile(`ci\nfine:${other}\nx\n${'y\n'.repeat(10_000)}`);
  expect(faults).toHaveLength(100);
  expect(faults.map((fault) => fault.split(' ')[1]).slice(0, 3)).toEqual(['1', '3', '4']);
});

describe('the file', () => {
  let path: string;
  let tokens: StaticTokens;
  jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);

  const replace = async (content: string) => {
    await writeFile(`${path}.new`, content);
    await rename(`${path}.new`, path);
  };

  beforeEach(async () => {
    path = join(await mkdtemp(join(tmpdir(), 'items-declared-')), 'tokens');
    tokens = new StaticTokens(Object.assign(new Configuration(), { AUTH_TOKENS_FILE: path }), new Metrics());
  });

  afterEach(async () => {
    tokens.onApplicationShutdown();
    await rm(dirname(path), { recursive: true });
  });

  it.each<[string, () => unknown, RegExp]>([
    ['is absent', () => undefined, /ENOENT/],
    ['is a pipe', () => execFileSync('mkfifo', [path]), /regular file/],
    ['is too large', () => writeFile(path, '#'.repeat(1024 * 1024 + 1)), /1 MiB/],
  ])('stops the start if it %s [static-invalid-start]', async (_case, prepare, reason) => {
    await prepare();
    const start = tokens.start(20);
    await expect(start).rejects.toThrow(OperatorError);
    await expect(start).rejects.toThrow(reason);
  });

  it('may have 1 MiB', async () => {
    const line = `\nci:${token}`;
    await replace('#'.repeat(1024 * 1024 - line.length) + line);
    await tokens.start(20);
    expect(tokens.tokens.has(tokenDigest(token))).toBe(true);
  });

  it.each<[string, () => Promise<void>, RegExp]>([
    ['is gone', () => rm(path), /cannot be read: ENOENT/],
    ['is too large', () => truncate(path, 1024 * 1024 + 1), /cannot be read: It must be/],
  ])('keeps the previous tokens if it %s, until it is fixed', async (_case, spoil, reason) => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    await replace(`ci:${token}\nreader:${other}`);
    await tokens.start(20);
    await spoil();
    await eventually(() => error.mock.calls.length > 0);
    // The same error is logged once.
    await delay(200);
    expect(error.mock.calls).toEqual([[expect.objectContaining({ faults: [expect.stringMatching(reason)] })]]);
    expect(tokens.tokens.size).toBe(2);
    await replace(`ci:${token}`);
    await eventually(() => tokens.tokens.size === 1);
    expect(tokens.tokens.has(tokenDigest(token))).toBe(true);
    error.mockRestore();
  });

  it('logs every other error, and accepts the same content again', async () => {
    const error = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    await replace(`ci:${token}`);
    // The reads of the test are the only ones.
    await tokens.start(2 ** 31 - 1);
    const logged: unknown[] = [];
    for (const content of ['hunter2', `a:${other}\nb:${other}`, `ci:${token}`, 'hunter2']) {
      await replace(content);
      for (let read = 0; read < 3; read += 1) await tokens.readAgain(path);
      logged.push(error.mock.calls.splice(0).flatMap(([line]) => (line as { faults: string[] }).faults));
      expect([...tokens.tokens.keys()]).toEqual([tokenDigest(token)]);
    }
    error.mockRestore();
    const [needs, repeats] = [expect.stringMatching(/^line 1 needs/), expect.stringMatching(/^line 2 repeats/)];
    expect(logged).toEqual([[needs], [repeats], [], [needs]]);
    expect(JSON.stringify(logged)).not.toContain('hunter2');
  });

  it('may revoke all tokens, and is no longer read after the shutdown', async () => {
    await replace(`ci:${token}`);
    await tokens.start(10);
    await replace('# none');
    await eventually(() => tokens.tokens.size === 0);
    tokens.onApplicationShutdown();
    // A read may be under way.
    await delay(50);
    await replace(`ci:${token}`);
    await delay(200);
    expect(tokens.tokens.size).toBe(0);
  });

  it('ignores a file that is still being written', async () => {
    await replace(`ci:${token}`);
    // The reads of the test are the only ones.
    await tokens.start(2 ** 31 - 1);
    for (const content of ['', `new:${other}\ninvalid`, `ci:${token}`, `new:${other}`]) {
      await replace(content);
      await tokens.readAgain(path);
      expect([...tokens.tokens.keys()]).toEqual([tokenDigest(token)]);
    }
    await tokens.readAgain(path);
    expect([...tokens.tokens.keys()]).toEqual([tokenDigest(other)]);
  });
});
