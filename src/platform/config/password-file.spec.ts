import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { OperatorError } from '../errors/operator-error.js';
import { PasswordFile } from './password-file.js';
import { readConfiguration } from './read-configuration.js';

const directory = mkdtempSync(join(tmpdir(), 'passwords-'));
let count = 0;

function fileWith(content: string | Buffer): string {
  count += 1;
  const path = join(directory, `password-${count}`);
  writeFileSync(path, content);
  return path;
}

const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
jest.spyOn(Logger.prototype, 'debug').mockImplementation(() => undefined);
beforeEach(() => warn.mockClear());

const URLS = { DATABASE_URL: 'postgres://items@db/items', REDIS_URL: 'redis://cache' };
const VARIABLES = ['DATABASE_PASSWORD_FILE', 'REDIS_PASSWORD_FILE'];
const faultOf = (environment: NodeJS.ProcessEnv): string => {
  try {
    readConfiguration(environment);
    return '';
  } catch (error) {
    return error instanceof OperatorError ? error.message : String(error);
  }
};

describe('the path of a password', () => {
  it('may have any content in UTF-8, of which a last line break and a byte order mark do not count', () => {
    const contents = ['secret', 'secret\n', 'secret\r\n', '\ufeffsecret'];
    const read = (content: string) => new PasswordFile('X', fileWith(content)).read();
    expect(contents.map(read)).toEqual(contents.map(() => 'secret'));
    expect(['two\nlines\n\n', ' ', 'ü'].map(read)).toEqual(['two\nlines\n', ' ', 'ü']);
    for (const name of VARIABLES) expect(faultOf({ ...URLS, [name]: fileWith('secret\n') })).toBe('');
  });

  it.each<[string, () => string, RegExp]>([
    ['that does not exist', () => join(directory, 'missing'), /ENOENT.*\/missing/],
    ['of an empty file', () => fileWith(''), /\/password-\d+ is empty/],
    ['of an empty line', () => fileWith('\n'), /\/password-\d+ is empty/],
    ['of a directory', () => directory, /is not a regular file/],
    ['of a device without an end', () => '/dev/zero', /\/dev\/zero is not a regular file/],
    ['of a pipe, which nobody writes', () => pipe(), /is not a regular file/],
    ['of a large file', () => fileWith('x'.repeat(65_537)), /is not a regular file of at most 65536 bytes/],
    ['of a binary file', () => fileWith(Buffer.from([0xff, 0xfe, 0x41, 0])), /not valid/],
    ['of a file with NUL', () => fileWith('hunter2\0'), /contains NUL/],
  ])('%s is an error that names the variable and the path [password-file-checked]', (_name, make, reason) => {
    for (const name of VARIABLES) {
      const fault = faultOf({ ...URLS, [name]: make() });
      expect(fault).toMatch(new RegExp(`${name} must be the path of a file with the password\\. .*${reason.source}`));
      expect(fault).not.toContain('hunter2');
    }
  });

  it('that is a password by mistake is not repeated', () => {
    for (const name of VARIABLES) {
      const fault = faultOf({ ...URLS, [name]: 'hunter2' });
      expect(fault).toContain(`${name} must be the path of a file with the password. It must begin with / or ./`);
      expect(fault).not.toContain('hunter2');
    }
  });

  it.each([
    ['DATABASE_URL', 'DATABASE_PASSWORD_FILE', 'postgres://items:hunter2@db/items'],
    ['DATABASE_URL', 'DATABASE_PASSWORD_FILE', 'postgres://items@db/items?sslmode=require&password=hunter2'],
    ['DATABASE_DIRECT_URL', 'DATABASE_PASSWORD_FILE', 'postgres://:hunter2@db/items'],
    ['DATABASE_READ_URL', 'DATABASE_PASSWORD_FILE', 'postgres://items:hunter2@db/items'],
    ['REDIS_URL', 'REDIS_PASSWORD_FILE', 'redis://:hunter2@cache'],
    ['REDIS_URL', 'REDIS_PASSWORD_FILE', 'redis+sentinel://me:hunter2@a:1,b:2/main?sentinelPassword=x'],
    ['REDIS_URL', 'REDIS_PASSWORD_FILE', 'rediss+cluster://me:hunter2@a:1,b:2'],
  ])('beside a password in %s is an error that says what to remove: %s %s [password-once]', (name, variable, url) => {
    const fault = faultOf({ ...URLS, [variable]: fileWith('secret'), [name]: url });
    const remedy = `because ${variable} is set: remove the password from the URL, or unset ${variable}`;
    expect(fault).toContain(`\n  ${name} must not have a password, ${remedy}`);
    expect(fault).not.toMatch(/hunter2|secret/);
    expect(faultOf({ ...URLS, [name]: url })).toBe('');
  });

  it.each([
    ['DATABASE_URL', 'postgres://items:@db/items?application_name=password', 'DATABASE_PASSWORD_FILE'],
    ['REDIS_URL', 'redis://user:@cache/1', 'REDIS_PASSWORD_FILE'],
    ['REDIS_URL', 'redis+sentinel://a,b:5/main?sentinelPassword=other', 'REDIS_PASSWORD_FILE'],
  ])('goes with a URL that has only a user: %s %s', (name, url, variable) => {
    expect(faultOf({ ...URLS, [name]: url, [variable]: fileWith('secret') })).toBe('');
  });

  it('needs the URL', () => {
    for (const name of VARIABLES) {
      expect(faultOf({ [name]: fileWith('x') })).toContain(`${name} needs ${name.replace('PASSWORD_FILE', 'URL')}`);
    }
  });
});

function pipe(): string {
  count += 1;
  const path = join(directory, `pipe-${count}`);
  execFileSync('mkfifo', [path]);
  return path;
}

describe('a password that is replaced', () => {
  it('is read each time; while it is refused, the previous one is used, and the new one once that is refused [password-rotation]', () => {
    const path = fileWith('first');
    const file = new PasswordFile('X', path);
    file.note(file.read(), false);
    writeFileSync(path, 'second');
    expect(file.read()).toBe('second');
    file.note('second', true);
    expect([file.read(), file.hasOther, warn.mock.calls.length]).toEqual(['first', true, 1]);
    file.note('first', false);
    expect([file.read(), warn.mock.calls.length]).toEqual(['first', 1]);
    file.note('first', true);
    expect([file.read(), file.hasOther]).toEqual(['second', true]);
    file.note('second', false);
    expect(file.read()).toBe('second');
    writeFileSync(path, 'third');
    expect(file.read()).toBe('third');
  });

  it('is not tried again as long as there is no other one', () => {
    const file = new PasswordFile('X', fileWith('only'));
    file.note('only', true);
    expect([file.read(), file.hasOther]).toEqual(['only', false]);
    file.note('only', false);
    file.note('only', true);
    expect([file.read(), file.hasOther]).toEqual(['only', false]);
    expect(warn).not.toHaveBeenCalled();
  });

  it('whose file cannot be read fails with the name of its variable, and is logged once a minute', () => {
    const file = new PasswordFile('X_FILE', join(directory, 'gone'));
    for (let attempt = 0; attempt < 3; attempt += 1) expect(() => file.read()).toThrow('The file of X_FILE cannot be read.');
    expect(file.hasOther).toBe(false);
    expect(warn.mock.calls).toEqual([
      [
        {
          msg: expect.stringMatching(/X_FILE cannot be read: new connections fail/),
          reason: expect.stringMatching(/ENOENT/),
        },
      ],
    ]);
  });

  it('is not printed', () => {
    const path = fileWith('hunter2');
    const file = new PasswordFile('X', path);
    file.note('hunter2', false);
    file.note('hunter2', true);
    expect(inspect(file, { showHidden: true, depth: 9 }) + JSON.stringify(file)).not.toContain('hunter2');
  });
});
