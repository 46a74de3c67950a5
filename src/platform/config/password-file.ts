import { readFileSync, statSync } from 'node:fs';
import { Logger } from '@nestjs/common';
import { reasonOf } from '../errors/describe-error.js';
import { warnOnceAMinute } from '../errors/warn-once-a-minute.js';
import { Parsed, RefusedValue, Rule } from '../validation/rule.js';
import { isUnset } from './variables.decorators.js';

/** Maximum bytes. Tokens of cloud providers, which serve as passwords, have a few thousand. */
const LARGEST = 65_536;

/** A password in the authority of a URL, or in PostgreSQL's parameter `password`. */
const PASSWORD_IN_URL = /^[^:]+:\/\/[^:@/?#]*:[^@/?#]+@|[?&]password=[^&#]/;

/** @throws Error with the path, without the content */
function readPassword(path: string): string {
  const file = statSync(path);
  if (!file.isFile() || file.size > LARGEST) {
    throw new Error(`${path} is not a regular file of at most ${LARGEST} bytes.`);
  }
  // A decoding error does not quote the file.
  const password = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path)).replace(/\r?\n$/, '');
  if (password === '' || password.includes('\0')) {
    throw new Error(`${path} ${password === '' ? 'is empty' : 'contains NUL'}.`);
  }
  return password;
}

/** The path of a file with a password. Errors quote the value only if it looks like a path: it may be the password. */
export function PasswordPath(): PropertyDecorator {
  return Parsed((path) => {
    try {
      if (/^\.{0,2}\//.test(path)) {
        readPassword(path);
        return path;
      }
      throw new Error('It must begin with / or ./');
    } catch (error) {
      return new RefusedValue({ code: 'form', detail: `must be the path of a file with the password. ${reasonOf(error)}` });
    }
  });
}

/** Rejects a password in a URL if another variable has the path of a password file. */
export function NoPasswordWith(variable: string): PropertyDecorator {
  const remedy = `remove the password from the URL, or unset ${variable}`;
  const detail = `must not have a password, because ${variable} is set: ${remedy}`;
  return Rule('password', detail, (url, configuration) => {
    return isUnset((configuration as Record<string, unknown>)[variable]) || !PASSWORD_IN_URL.test(String(url));
  });
}

/**
 * A password that may be replaced while the service runs. The file is read for each connection, by its path, because
 * Kubernetes replaces links; and synchronously, because clients of Redis cannot wait. Mounted secrets are in memory.
 */
export class PasswordFile {
  private readonly warn = warnOnceAMinute(new Logger('PasswordFile'));
  /** The passwords that a server accepted and refused last. Private, so that nothing prints them. */
  #accepted: string | undefined;
  #refused: string | undefined;

  /** @param variable - name of the variable that has the path */
  constructor(
    private readonly variable: string,
    private readonly path: string,
  ) {}

  /** The password of the file; while servers still refuse it, the previous one. @throws Error if the file cannot be read */
  readonly read = (): string => {
    try {
      const password = readPassword(this.path);
      if (password !== this.#refused || this.#accepted === undefined || this.#accepted === password) {
        return password;
      }
      this.warn(`The server refuses the password of ${this.variable}: the previous one stays in use.`, undefined);
      return this.#accepted;
    } catch (cause) {
      this.warn(`The file of ${this.variable} cannot be read: new connections fail.`, cause);
      throw new Error(`The file of ${this.variable} cannot be read.`, { cause });
    }
  };

  /** Notes whether a server accepted a password. */
  note(password: string, isRefused: boolean): void {
    if (isRefused) {
      this.#refused = password;
    } else {
      this.#accepted = password;
    }
  }

  /** Whether {@link read} gives another password than the one that was refused last. */
  get hasOther(): boolean {
    try {
      return this.read() !== this.#refused;
    } catch {
      return false;
    }
  }
}
