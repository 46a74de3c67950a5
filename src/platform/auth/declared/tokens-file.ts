import { hash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { v5 } from 'uuid';
import { isScope, type Principal } from '../principal.js';
import { fingerprintOf, hideCredentials, isTokenName, isWellFormedToken, TOKEN_NAME_RULE } from '../token-format.js';

/** Derives token ids from digests. A change would reset the rate limits and idempotency keys of all declared tokens. */
const NAMESPACE = 'ded3dc31-2308-4a1e-9bd0-7047068ef6cf';

export type DeclaredToken = Principal & { readonly name: string };

/** The content of a tokens file: tokens by fingerprint, and errors, which never quote the file. */
export interface Declaration {
  readonly tokens: Map<string, DeclaredToken>;
  readonly faults: string[];
}

/** Reads a tokens file. `mark` identifies the content, or the error if the file cannot be read. */
export async function readTokensFile(path: string): Promise<{ mark: string; parse: () => Declaration }> {
  try {
    const file = await stat(path);
    if (!file.isFile() || file.size > 1024 * 1024) {
      throw new Error('It must be a regular file of at most 1 MiB.');
    }
    const content = await readFile(path, 'utf8');
    return { mark: hash('sha256', content), parse: () => parseTokensFile(content) };
  } catch (error) {
    const fault = `cannot be read: ${Error.isError(error) ? error.message : String(error)}`;
    return { mark: fault, parse: () => ({ tokens: new Map(), faults: [fault] }) };
  }
}

/** Parses lines of `name:sha256-or-token[:scopes]`, with scopes separated by spaces. Skips blank lines and `#` comments. */
export function parseTokensFile(content: string): Declaration {
  const tokens: Declaration['tokens'] = new Map();
  const lines = content.replace(/^\ufeff/, '').split(/\r?\n/);
  const faults = lines.flatMap((line, index) => {
    // The `#` of a commented-out token may be indented.
    const fault = /^\s*(?:#|$)/.test(line) ? undefined : addLine(line, tokens);
    return fault === undefined ? [] : [`line ${index + 1} ${fault}`];
  });
  // A file of another format can give thousands of errors.
  return { tokens, faults: faults.slice(0, 100) };
}

/** @returns the first error of a line, with its fix */
function addLine(line: string, tokens: Declaration['tokens']): string | undefined {
  // Scopes contain colons.
  const [name = '', credential = '', ...rest] = line.split(':');
  const isDigest = /^[0-9A-Fa-f]{64}$/.test(credential);
  const fingerprint = isDigest ? credential.toLowerCase() : fingerprintOf(credential);
  const scopes = [...new Set(rest.join(':').split(' '))].filter(Boolean).toSorted();
  const rules: [boolean, string][] = [
    [[name, ...scopes].some(isSecret), 'has a token or a SHA-256 in the wrong field: write name:token:scopes'],
    [!isTokenName(name), `has an invalid name: write ${TOKEN_NAME_RULE} before the first colon`],
    [
      !isDigest && !isWellFormedToken(credential),
      'needs a token or the 64 hexadecimal digits of a SHA-256 after its first colon, without spaces',
    ],
    [tokens.has(fingerprint), 'repeats the token of an earlier line: remove one of the two'],
    [rest.length > 0 && scopes.length === 0, 'has no scopes after the second colon: remove this colon to grant all scopes'],
    [!scopes.every(isScope), 'has an invalid scope: use visible ASCII characters except " and \\'],
  ];
  const id = v5(fingerprint, NAMESPACE);
  tokens.set(fingerprint, { id, familyId: id, name, scopes: rest.length > 0 ? scopes : 'all' });
  return rules.find(([isBroken]) => isBroken)?.[1];
}

/** Names and scopes are logged, so they must not contain a secret. */
function isSecret(text: string): boolean {
  return /[0-9A-Fa-f]{64}/.test(text) || hideCredentials(text) !== text;
}
