import { SERVICE_NAME } from '../../config/service-name.js';
import { hideCredentials } from '../hide-credentials.js';
import { isScope } from '../scope.js';
import { digestOf, isWellFormedToken } from '../token-format.js';
import { isTokenName, TOKEN_NAME_RULE } from '../token-name.js';

/** What a line declares. */
export interface ParsedToken {
  readonly name: string;
  /** SHA-256 of the token. */
  readonly digest: Buffer;
  readonly scopes: 'all' | readonly string[];
}

/** What is wrong with a line, and how to mend it. Tells nothing of what the line says: that may be a token. */
export interface LineFault {
  /** The first line is 1. */
  readonly line: number;
  readonly detail: string;
}

const DIGEST = /[0-9A-Fa-f]{64}/;

/** Names and scopes are logged: what looks like a token or a digest there, be it mistyped, is in the wrong place. */
function isSecret(text: string): boolean {
  return DIGEST.test(text) || hideCredentials(text) !== text;
}

/**
 * Reads a file of tokens, `name:sha256-or-token[:scopes]` a line, the scopes separated by spaces. Blank lines and those that
 * begin with `#` are skipped; so are they when spaces come before the `#`, or a token would stay that somebody meant to
 * comment out.
 *
 * @returns the tokens, or all that is wrong
 */
export function parseTokensFile(text: string): { tokens: ParsedToken[] } | { faults: LineFault[] } {
  const tokens: ParsedToken[] = [];
  const faults: LineFault[] = [];
  const lines = new Map<string, number>();
  const contents = text.replace(/^\ufeff/, '').split(/\r?\n/);
  for (const [index, content] of contents.entries()) {
    if (/^\s*(?:#|$)/.test(content)) {
      continue;
    }
    const line = index + 1;
    const { token, details } = parseLine(content);
    const key = token?.digest.toString('hex') ?? '';
    const earlier = lines.get(key);
    if (earlier !== undefined) {
      details.push(`declares the token of line ${earlier} again: keep one of the two`);
    }
    if (token) {
      tokens.push(token);
      lines.set(key, earlier ?? line);
    }
    faults.push(...details.map((detail) => ({ line, detail })));
  }
  return faults.length > 0 ? { faults } : { tokens };
}

/** Scopes contain colons: only the first two of a line separate its parts. */
function parseLine(content: string): { token: ParsedToken | undefined; details: string[] } {
  const [name = '', credential, ...rest] = content.split(':');
  if (credential === undefined) {
    return { token: undefined, details: ['has no colon: write name:token or name:token:scopes'] };
  }
  const scopes = rest.length === 0 ? undefined : [...new Set(rest.join(':').split(' '))].filter((scope) => scope !== '');
  const digest = digestIn(credential);
  const details = [...nameFaults(name), ...(digest ? [] : [CREDENTIAL_FAULT]), ...scopeFaults(scopes)];
  return { token: digest && { name, digest, scopes: scopes ?? 'all' }, details };
}

const CREDENTIAL_FAULT =
  `has neither a token nor the SHA-256 of one after the first colon: write the ${SERVICE_NAME}_… whole, with its right ` +
  'checksum, or 64 hexadecimal digits, and no spaces around it';

function digestIn(credential: string): Buffer | undefined {
  if (/^[0-9A-Fa-f]{64}$/.test(credential)) {
    return Buffer.from(credential, 'hex');
  }
  return isWellFormedToken(credential) ? digestOf(credential) : undefined;
}

function nameFaults(name: string): string[] {
  if (!isTokenName(name)) {
    return [`has no name that can be used: write ${TOKEN_NAME_RULE} before the first colon`];
  }
  return isSecret(name) ? ['has a token or a SHA-256 where its name belongs: write name:token'] : [];
}

function scopeFaults(scopes: readonly string[] = ['none']): string[] {
  if (scopes.length === 0) {
    return ['has no scopes after the second colon: write some, or leave out the colon too, which gives all scopes'];
  }
  if (scopes.some(isSecret)) {
    return ['has a token or a SHA-256 where its scopes belong: write name:token:scopes'];
  }
  return scopes.every(isScope)
    ? []
    : ['has a scope that is none: write visible ASCII characters but " and \\, with spaces between scopes'];
}
