import { hash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { v5 } from 'uuid';
import { Configuration } from '../../config/configuration.js';
import { isScope } from '../../config/variables.decorators.js';
import { OperatorError } from '../../errors/operator-error.js';
import { Metrics } from '../../observability/metrics.js';
import { audit } from '../audit-log.js';
import type { Principal } from '../principal.js';
import { tokenDigest, isTokenName, isWellFormedToken, TOKEN_NAME_RULE } from '../token-format.js';
import { hideCredentials } from '../../errors/redaction.js';
import { parseTokenLimit, TOKEN_LIMIT_RULE, tokenLimitFault } from '../token-limit.js';

/** Milliseconds between two reads of the file. File system events miss replaced links and changes on network volumes. */
const INTERVAL = 2000;

/** Derives token ids from digests. A change would reset the rate limits and idempotency keys of all static tokens. */
const NAMESPACE = 'ded3dc31-2308-4a1e-9bd0-7047068ef6cf';

export const FILE_REMEDY =
  'Write one token per line as name:sha256-or-token[:limit=1000][:scopes], or unset AUTH_TOKENS_FILE.';

type StaticToken = Principal & { readonly name: string };

/** Whether a caller has a token of the file: only such a principal has a name. */
export function isStaticToken(caller: Principal): caller is StaticToken {
  return 'name' in caller;
}

/** The content of a tokens file: tokens by digest, and errors, which never quote the file. */
interface TokensFile {
  readonly tokens: Map<string, StaticToken>;
  readonly faults: string[];
}

/** Tokens of the file `AUTH_TOKENS_FILE`, without a database. While the file is invalid, the previous ones stay valid. */
@Injectable()
export class StaticTokens implements OnApplicationShutdown {
  tokens: ReadonlyMap<string, StaticToken> = new Map();
  private readonly logger = new Logger('StaticTokens');
  private isFileValid = true;
  private isStopped = false;
  private inForce = '';
  private lastRead = '';

  constructor(
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    if (configuration.AUTH_TOKENS_FILE !== undefined) {
      const help =
        'Whether the file at AUTH_TOKENS_FILE is valid (1), or invalid so that its previous tokens are in force (0)';
      metrics.gauge({ name: 'auth_tokens_file_valid', help }, () => Number(this.isFileValid));
    }
  }

  /** Reads the file, if one is configured, and watches it for changes. @throws OperatorError with all errors of the file */
  async start(interval = INTERVAL): Promise<void> {
    const { AUTH_TOKENS_FILE: path } = this.configuration;
    if (path !== undefined) {
      const { mark, parse } = await readTokensFile(path, this.configuration);
      const faults = this.apply(parse(), 'read at start');
      if (faults.length > 0) {
        throw new OperatorError(
          [`The file ${path} of AUTH_TOKENS_FILE cannot be used:`, ...faults, FILE_REMEDY].join('\n  '),
        );
      }
      this.inForce = mark;
      void this.follow(path, interval);
    }
  }

  onApplicationShutdown(): void {
    this.isStopped = true;
  }

  private async follow(path: string, interval: number): Promise<void> {
    while (!this.isStopped) {
      await delay(interval, undefined, { ref: false });
      await this.readAgain(path);
    }
  }

  /** Applies a change once it is the same in two reads: editors truncate a file before they write it. */
  async readAgain(path: string): Promise<void> {
    const { mark, parse } = await readTokensFile(path, this.configuration);
    if (mark !== this.inForce && mark === this.lastRead) {
      this.inForce = mark;
      const faults = this.apply(parse(), 'file changed');
      if (faults.length > 0) {
        this.logger.error({ msg: 'tokens file rejected, the previous tokens stay valid', faults });
      }
    }
    this.lastRead = mark;
  }

  private apply({ tokens, faults }: TokensFile, reason: string): string[] {
    this.isFileValid = faults.length === 0;
    if (this.isFileValid) {
      const note = (event: 'token.declared' | 'token.undeclared', { id, name, scopes, rateLimit: limit }: StaticToken) =>
        audit(event, { actor: 'AUTH_TOKENS_FILE', reason }, { tokenId: id, name, scopes, limit });
      for (const [key, token] of this.tokens) if (!tokens.has(key)) note('token.undeclared', token);
      for (const [key, token] of tokens) if (!isDeepStrictEqual(token, this.tokens.get(key))) note('token.declared', token);
      this.tokens = tokens;
      this.logger.log({ msg: 'tokens file loaded', tokens: tokens.size });
    }
    return faults;
  }
}

/** Reads a tokens file. `mark` identifies the content, or the error if the file cannot be read. */
export async function readTokensFile(
  path: string,
  settings: Configuration,
): Promise<{ mark: string; parse: () => TokensFile }> {
  try {
    const file = await stat(path);
    if (!file.isFile() || file.size > 1024 * 1024) {
      throw new Error('It must be a regular file of at most 1 MiB.');
    }
    const content = await readFile(path, 'utf8');
    return { mark: hash('sha256', content), parse: () => parseTokensFile(content, settings) };
  } catch (error) {
    const fault = `cannot be read: ${Error.isError(error) ? error.message : String(error)}`;
    return { mark: fault, parse: () => ({ tokens: new Map(), faults: [fault] }) };
  }
}

/** Parses `name:sha256-or-token[:limit=1000][:scopes]` lines with spaces between scopes. Skips blank lines and comments. */
export function parseTokensFile(content: string, settings = new Configuration()): TokensFile {
  const tokens: TokensFile['tokens'] = new Map();
  const lines = content.replace(/^\ufeff/, '').split(/\r?\n/);
  const faults = lines.flatMap((line, index) => {
    // The `#` of a commented-out token may be indented.
    const fault = /^\s*(?:#|$)/.test(line) ? undefined : addLine(line, tokens, settings);
    return fault === undefined ? [] : [`line ${index + 1} ${fault}`];
  });
  // A file of another format can give thousands of errors.
  return { tokens, faults: faults.slice(0, 100) };
}

/** @returns the first error of a line, with its fix */
function addLine(line: string, tokens: TokensFile['tokens'], settings: Configuration): string | undefined {
  // Scopes contain colons.
  const [name = '', credential = '', ...fields] = line.split(':');
  const given = /^\s*limit\s*=(.*)/i.exec(fields[0] ?? '')?.[1]?.trim();
  const rest = given === undefined ? fields : fields.slice(1);
  const rateLimit = parseTokenLimit(given ?? '');
  const isDigest = /^[0-9A-Fa-f]{64}$/.test(credential);
  const digest = isDigest ? credential.toLowerCase() : tokenDigest(credential);
  const scopes = [...new Set(rest.join(':').split(' '))].filter(Boolean).toSorted();
  const faults = [
    [name, ...scopes].some(isSecret) && 'has a token or a SHA-256 in the wrong field: write name:token:scopes',
    !isTokenName(name) && `has an invalid name: write ${TOKEN_NAME_RULE} before the first colon`,
    !isDigest &&
      !isWellFormedToken(credential) &&
      'needs a token or the 64 hexadecimal digits of a SHA-256 after its first colon, without spaces',
    tokens.has(digest) && 'repeats the token of an earlier line: remove one of the two',
    given !== undefined &&
      rateLimit === undefined &&
      `has an invalid limit: write limit= and ${TOKEN_LIMIT_RULE}, and a colon before scopes`,
    tokenLimitFault(rateLimit, settings),
    scopes.some((scope) => /(?:^|:)limit=/i.test(scope)) &&
      'has its limit in the wrong field: write name:token:limit=1000:scopes',
    rest.length > 0 && scopes.length === 0 && 'has no scopes after its last colon: remove this colon to grant all scopes',
    !scopes.every(isScope) && 'has an invalid scope: use visible ASCII characters except " and \\',
  ];
  const id = v5(digest, NAMESPACE);
  tokens.set(digest, { id, familyId: id, name, scopes: rest.length > 0 ? scopes : 'all', ...(rateLimit && { rateLimit }) });
  return faults.find((fault) => typeof fault === 'string');
}

/** Whether a name or scope contains a secret: both are logged. */
function isSecret(text: string): boolean {
  return /[0-9A-Fa-f]{64}/.test(text) || hideCredentials(text) !== text;
}
