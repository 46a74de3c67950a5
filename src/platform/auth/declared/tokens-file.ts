import { hash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { v5 } from 'uuid';
import { hideCredentials } from '../hide-credentials.js';
import { isScope, type Principal } from '../principal.js';
import { fingerprintOf, isTokenName, isWellFormedToken, TOKEN_NAME_RULE } from '../token-format.js';

/** Makes ids of digests. With another one, clients would lose their rate limits and idempotency keys. */
const NAMESPACE = 'ded3dc31-2308-4a1e-9bd0-7047068ef6cf';

/** A token of the file, as the principal that it lets in. */
export type DeclaredToken = Principal & { readonly name: string };

/** What a file declares: tokens by their fingerprint, and errors, which do not quote the file. */
export interface Declaration {
  readonly tokens: Map<string, DeclaredToken>;
  readonly faults: string[];
}

/** Reads a file of tokens. `mark` changes with the content; a failure to read counts as a content with this fault alone. */
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

/** Parses lines of `name:sha256-or-token[:scopes]`, scopes separated by spaces. Blank lines and comments (`#`) are skipped. */
export function parseTokensFile(content: string): Declaration {
  const tokens: Declaration['tokens'] = new Map();
  const lines = content.replace(/^\ufeff/, '').split(/\r?\n/);
  const faults = lines.flatMap((line, index) => {
    // A token may be commented out with spaces before the `#`.
    const fault = /^\s*(?:#|$)/.test(line) ? undefined : addLine(line, tokens);
    return fault === undefined ? [] : [`line ${index + 1} ${fault}`];
  });
  // A file of another kind may have thousands.
  return { tokens, faults: faults.slice(0, 100) };
}

/** @returns what is wrong with a line, and how to fix it */
function addLine(line: string, tokens: Declaration['tokens']): string | undefined {
  // Scopes contain colons.
  const [name = '', credential = '', ...rest] = line.split(':');
  const isDigest = /^[0-9A-Fa-f]{64}$/.test(credential);
  const fingerprint = isDigest ? credential.toLowerCase() : fingerprintOf(credential);
  const scopes = [...new Set(rest.join(':').split(' '))].filter(Boolean).toSorted();
  const rules: [boolean, string][] = [
    [[name, ...scopes].some(isSecret), 'has a token or a SHA-256 elsewhere than after its first colon: write name:token:scopes'],
    [!isTokenName(name), `has no name that can be used: write ${TOKEN_NAME_RULE} before the first colon`],
    [
      !isDigest && !isWellFormedToken(credential),
      'has neither a token nor 64 digits of a SHA-256 after its first colon, without spaces',
    ],
    [tokens.has(fingerprint), 'declares the token of an earlier line again: keep one of the two'],
    [rest.length > 0 && scopes.length === 0, 'has no scopes after the second colon: without this colon, it has all'],
    [!scopes.every(isScope), 'has a scope with other characters than visible ASCII without " and \\'],
  ];
  const id = v5(fingerprint, NAMESPACE);
  tokens.set(fingerprint, { id, familyId: id, name, scopes: rest.length > 0 ? scopes : 'all' });
  return rules.find(([isBroken]) => isBroken)?.[1];
}

/** Names and scopes are logged. */
function isSecret(text: string): boolean {
  return /[0-9A-Fa-f]{64}/.test(text) || hideCredentials(text) !== text;
}
