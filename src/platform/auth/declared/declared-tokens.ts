import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Configuration } from '../../config/configuration.js';
import { OperatorError } from '../../config/operator-error.js';
import { Metrics } from '../../observability/metrics.js';
import { audit } from '../audit-log.js';
import { type Declaration, type DeclaredToken, readTokensFile } from './tokens-file.js';

/** Milliseconds between two reads of the file. File system events miss replaced links and changes on network volumes. */
const INTERVAL = 2000;

/** Tokens of the file `AUTH_TOKENS_FILE`, which need no database. While the file is invalid, the previous tokens stay valid. */
@Injectable()
export class DeclaredTokens implements OnApplicationShutdown {
  private readonly logger = new Logger('DeclaredTokens');
  private tokens: Declaration['tokens'] = new Map();
  private isFileValid = true;
  private isStopped = false;

  constructor(
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    if (configuration.AUTH_TOKENS_FILE !== undefined) {
      const help = 'Whether the file at AUTH_TOKENS_FILE is valid (1), or invalid so that its previous tokens are in force (0)';
      metrics.gauge({ name: 'items_auth_tokens_file_valid', help }, () => Number(this.isFileValid));
    }
  }

  /** Reads the file, if one is configured, and watches it for changes. @throws OperatorError with all errors of the file */
  async start(interval = INTERVAL): Promise<void> {
    const { AUTH_TOKENS_FILE: path } = this.configuration;
    if (path !== undefined) {
      const { mark, parse } = await readTokensFile(path);
      const faults = this.take(parse(), 'read at start');
      if (faults.length > 0) {
        const remedy = 'Write one token per line as name:sha256-or-token[:scopes], or unset AUTH_TOKENS_FILE.';
        throw new OperatorError([`The file ${path} of AUTH_TOKENS_FILE cannot be used:`, ...faults, remedy].join('\n  '));
      }
      void this.follow(path, mark, interval);
    }
  }

  /** @param fingerprint - of a token, from `fingerprintOf` */
  find(fingerprint: string): DeclaredToken | undefined {
    return this.tokens.get(fingerprint);
  }

  onApplicationShutdown(): void {
    this.isStopped = true;
  }

  private async follow(path: string, first: string, interval: number): Promise<void> {
    let [inForce, last] = [first, first];
    while (!this.isStopped) {
      await delay(interval, undefined, { ref: false });
      const { mark, parse } = await readTokensFile(path);
      // A change must be the same in two reads: editors truncate a file before they write it.
      if (mark !== inForce && mark === last) {
        inForce = mark;
        const faults = this.take(parse(), 'file changed');
        if (faults.length > 0) {
          this.logger.error({ msg: 'tokens file rejected, the previous tokens stay valid', faults });
        }
      }
      last = mark;
    }
  }

  private take({ tokens, faults }: Declaration, reason: string): string[] {
    this.isFileValid = faults.length === 0;
    if (this.isFileValid) {
      const note = (event: 'token.declared' | 'token.undeclared', { id, name, scopes }: DeclaredToken) =>
        audit(event, { actor: 'AUTH_TOKENS_FILE', reason }, { tokenId: id, name, scopes });
      for (const [key, token] of this.tokens) if (!tokens.has(key)) note('token.undeclared', token);
      for (const [key, token] of tokens) if (!isDeepStrictEqual(token, this.tokens.get(key))) note('token.declared', token);
      this.tokens = tokens;
      this.logger.log({ msg: 'tokens file loaded', tokens: tokens.size });
    }
    return faults;
  }
}
