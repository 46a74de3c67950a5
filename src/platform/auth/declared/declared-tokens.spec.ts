import { execFileSync } from 'node:child_process';
import { mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { Configuration } from '../../config/configuration.js';
import { OperatorError } from '../../config/operator-error.js';
import { Metrics } from '../../observability/metrics.js';
import type { Attribution, AuditEvent, AuditLog } from '../audit-log.js';
import { digestOf, fingerprintOf, generateToken } from '../token-format.js';
import type { DeclaredToken } from './declaration.js';
import { DeclaredTokens } from './declared-tokens.js';

const INTERVAL = 20;
const KNOWN_SCOPES = ['items:read', 'items:write', 'items:read'];

const token = generateToken();
const other = generateToken();

let directory: string;
let path: string;
let log: { level: string; msg: string; faults?: string[] }[];
let audit: unknown[];
let metrics: Metrics;
let tokens: DeclaredTokens;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'items-declared-'));
  path = join(directory, 'tokens');
  log = [];
  audit = [];
  const note = (level: string) => (message: object) => log.push({ msg: '', ...message, level });
  Logger.overrideLogger({ log: note('info'), warn: note('warn'), error: note('error') });
  metrics = new Metrics();
  tokens = follow({ AUTH_TOKENS_FILE: path });
});

afterEach(async () => {
  tokens.onApplicationShutdown();
  Logger.overrideLogger(new ConsoleLogger());
  await rm(directory, { recursive: true });
});

function follow(variables: Partial<Configuration>): DeclaredTokens {
  const write = (event: AuditEvent, { actor, reason }: Attribution, details: object) =>
    audit.push({ event, actor, reason, ...details });
  return new DeclaredTokens(Object.assign(new Configuration(), variables), metrics, { write } as unknown as AuditLog);
}

async function replace(...lines: string[]): Promise<void> {
  await writeFile(`${path}.new`, lines.join('\n'));
  await rename(`${path}.new`, path);
}

async function until(isSo: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 20_000; !isSo(); await delay(5)) {
    if (Date.now() > deadline) throw new Error(`Not so after 20 seconds: ${isSo.toString()}`);
  }
}

const eventOf =
  (event: AuditEvent, reason: string) =>
  ({ id, name, scopes }: DeclaredToken) => ({ event, actor: 'AUTH_TOKENS_FILE', reason, tokenId: id, name, scopes });
const isKnown = (text: string) => tokens.find(fingerprintOf(text)) !== undefined;
const errors = () => log.filter(({ level }) => level === 'error');
const gauge = async () => /^items_auth_tokens_file_valid (.*)$/m.exec(await metrics.registry.metrics())?.[1];

describe('the start', () => {
  it('reads the tokens, and tells the audit log of each', async () => {
    await replace(`ci:${token}`, `reader:${digestOf(other).toString('hex')}:items:read`);
    await tokens.start(KNOWN_SCOPES, INTERVAL);
    expect(tokens.find(fingerprintOf(other))?.scopes).toEqual(['items:read']);
    expect(audit).toEqual(tokens.list().map(eventOf('token.declared', 'read at start')));
    expect(tokens.list().map(({ name }) => name)).toEqual(['ci', 'reader']);
    expect([await gauge(), log.map(({ level }) => level)]).toEqual(['1', ['info']]);
  });

  it('does nothing without a file', async () => {
    metrics = new Metrics();
    tokens = follow({});
    await tokens.start(KNOWN_SCOPES, INTERVAL);
    expect([tokens.list(), audit, log, await gauge()]).toEqual([[], [], [], undefined]);
  });

  it('warns of scopes that no route asks for', async () => {
    await replace(`ci:${token}:items:red items:read`);
    await tokens.start(KNOWN_SCOPES, INTERVAL);
    expect(log.filter(({ level }) => level === 'warn').map(({ msg }) => msg)).toEqual([
      'There is no scope items:red here, which the tokens file names. There are items:read, items:write.',
    ]);
    expect(tokens.find(fingerprintOf(token))?.scopes).toEqual(['items:red', 'items:read']);
  });

  it.each<[string, () => unknown, string]>([
    ['is absent', () => undefined, 'ENOENT'],
    ['is a directory', () => execFileSync('mkdir', [path]), 'It is no regular file.'],
    ['is a pipe', () => execFileSync('mkfifo', [path]), 'It is no regular file.'],
    ['leads to itself', () => execFileSync('ln', ['-s', path, path]), 'ELOOP'],
    ['is too large', () => writeFile(path, '#'.repeat(1024 * 1024 + 1)), 'It is larger than 1048576 bytes.'],
  ])('fails when the file %s', async (_case, prepare, reason) => {
    await prepare();
    const error: unknown = await tokens.start(KNOWN_SCOPES, INTERVAL).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OperatorError);
    for (const part of ['AUTH_TOKENS_FILE', path, reason]) expect(String(error)).toContain(part);
  });

  it('takes a file of the largest size', async () => {
    const line = `\nci:${token}`;
    await writeFile(path, '#'.repeat(1024 * 1024 - line.length) + line);
    await tokens.start(KNOWN_SCOPES, INTERVAL);
    expect(isKnown(token)).toBe(true);
  });

  it('fails when lines are wrong, and names them all without what they say', async () => {
    await replace(`ci:${token}`, `ci:${token}x`, '', 'hunter2');
    const start = tokens.start(KNOWN_SCOPES, INTERVAL);
    await expect(start).rejects.toThrow(OperatorError);
    await expect(start).rejects.toThrow(/^The file .*\n {2}line 2 has neither .*\n {2}line 4 has no colon.*\nMend it/);
    await expect(start).rejects.not.toThrow(/items_[0-9A-Za-z]|hunter2/);
    expect([tokens.list(), audit]).toEqual([[], []]);
  });
});

describe('a change', () => {
  beforeEach(async () => {
    await replace(`ci:${token}`, `reader:${other}:items:read`);
    await tokens.start(KNOWN_SCOPES, INTERVAL);
    audit = [];
  });

  it('is taken as a whole, and the audit log told what it is', async () => {
    const third = generateToken();
    const before = tokens.list().slice(0, 1);
    await replace(`reader:${other}`, `new:${third}`);
    await until(() => isKnown(third));
    expect(isKnown(token)).toBe(false);
    expect(audit).toEqual([
      ...before.map(eventOf('token.undeclared', 'file changed')),
      ...tokens.list().map(eventOf('token.declared', 'file changed')),
    ]);
  });

  it('may take all tokens away', async () => {
    await replace('# none');
    await until(() => !isKnown(token));
    expect([tokens.list(), await gauge()]).toEqual([[], '1']);
  });

  it.each<[string, () => Promise<void>, string]>([
    ['is wrong', () => replace(`new:${token}`, 'hunter2'), 'line 2 has no colon'],
    ['takes the file away', () => rm(path), 'cannot be read: ENOENT'],
    ['makes the file too large', () => truncate(path, 1024 * 1024 + 1), 'cannot be read: It is larger than'],
  ])('that %s is an error in the log, once, and changes nothing until it is mended', async (_case, spoil, reason) => {
    await spoil();
    await until(() => errors().length > 0);
    await delay(20 * INTERVAL);
    expect(errors().map(({ faults }) => faults)).toEqual([[expect.stringContaining(reason)]]);
    expect(JSON.stringify(log)).not.toMatch(/items_[0-9A-Za-z]|hunter2/);
    expect([isKnown(token), isKnown(other), audit, await gauge()]).toEqual([true, true, [], '0']);

    await replace(`ci:${token}`, `reader:${other}:items:read`);
    while ((await gauge()) === '0') await delay(5);
    expect(audit).toEqual([]);
    await replace(`ci:${token}`);
    await until(() => !isKnown(other));
  });

  it('that is wrong in another way is another error', async () => {
    await replace('hunter2');
    await until(() => errors().length === 1);
    await replace(`a:${token}`, `b:${token}`);
    await until(() => errors().length === 2);
  });

  it('is no longer followed after the end', async () => {
    tokens.onApplicationShutdown();
    await replace('# none');
    await delay(20 * INTERVAL);
    expect(isKnown(token)).toBe(true);
  });
});
