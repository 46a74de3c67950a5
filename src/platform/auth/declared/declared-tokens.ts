import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Configuration } from '../../config/configuration.js';
import { OperatorError } from '../../config/operator-error.js';
import { Metrics } from '../../observability/metrics.js';
import { AuditLog } from '../audit-log.js';
import type { Principal } from '../principal.js';
import { Declaration, type DeclaredToken } from './declaration.js';
import { FollowedFile } from './followed-file.js';
import { readTokensFile } from './read-tokens-file.js';

/** Milliseconds between two looks at the file. */
const INTERVAL = 5000;

/** Milliseconds that a read of it may take. */
const PATIENCE = 5000;

/**
 * The tokens that the file at `AUTH_TOKENS_FILE` brings, which may be a Secret of Kubernetes. They are in force as long as it
 * names them, and need no database. When it turns wrong or goes away, those before stay in force until it is mended.
 */
@Injectable()
export class DeclaredTokens implements OnApplicationShutdown {
  private readonly logger = new Logger('DeclaredTokens');
  private declaration = new Declaration([]);
  private knownScopes: readonly string[] = [];
  private isFileValid = true;
  private file: FollowedFile | undefined;

  constructor(
    private readonly configuration: Configuration,
    metrics: Metrics,
    private readonly audit: AuditLog,
  ) {
    if (configuration.AUTH_TOKENS_FILE !== undefined) {
      const help = 'Whether the file at AUTH_TOKENS_FILE is in force (1), or is wrong and the tokens before it are (0)';
      metrics.gauge({ name: 'items_auth_tokens_file_valid', help }, () => Number(this.isFileValid));
    }
  }

  /**
   * Reads the file and follows it from then on. Does nothing when `AUTH_TOKENS_FILE` is unset.
   *
   * @param knownScopes - that routes ask for
   * @param interval - milliseconds between two looks at the file
   * @throws OperatorError with all that is wrong with the file
   */
  async start(knownScopes: readonly string[], interval: number = INTERVAL): Promise<void> {
    const { AUTH_TOKENS_FILE: path } = this.configuration;
    if (path === undefined) {
      return;
    }
    this.knownScopes = knownScopes;
    this.file = new FollowedFile({
      interval,
      patience: PATIENCE,
      read: () => readTokensFile(path),
      onContent: (content) => {
        this.judge(this.take(content, 'file changed'));
      },
      onFailure: (error) => {
        this.judge([reasonOf(error)]);
      },
    });
    const faults = await this.file.read().then(
      (content) => this.take(content, 'read at start'),
      (error: unknown) => [reasonOf(error)],
    );
    if (faults.length > 0) {
      const lines = faults.map((fault) => `  ${fault}`);
      const remedy = 'Mend it, one name:sha256-or-token[:scopes] a line, or unset AUTH_TOKENS_FILE.';
      throw new OperatorError([`The file ${path} of AUTH_TOKENS_FILE cannot be used:`, ...lines, remedy].join('\n'));
    }
    void this.file.follow();
  }

  /**
   * Whom the file lets in with a token.
   *
   * @param fingerprint - of the token, from `fingerprintOf`
   */
  find(fingerprint: string): Principal | undefined {
    return this.declaration.find(fingerprint);
  }

  /** The tokens in force, in the order of the file. */
  list(): readonly DeclaredToken[] {
    return this.declaration.tokens;
  }

  onApplicationShutdown(): void {
    this.file?.stop();
  }

  /** Puts what the file declares in the place of all before, unless something is wrong. @returns what that is */
  private take(content: Buffer, reason: string): readonly string[] {
    const parsed = Declaration.parse(content);
    if (!(parsed instanceof Declaration)) {
      return parsed.faults;
    }
    const { declared, undeclared } = parsed.changesSince(this.declaration);
    this.declaration = parsed;
    const by = { actor: 'AUTH_TOKENS_FILE', reason };
    for (const { id, name, scopes } of undeclared) this.audit.write('token.undeclared', by, { tokenId: id, name, scopes });
    for (const { id, name, scopes } of declared) this.audit.write('token.declared', by, { tokenId: id, name, scopes });
    this.logger.log({ msg: 'tokens file in force', tokens: parsed.tokens.length });
    const unknown = parsed.scopesBeyond(this.knownScopes);
    if (unknown.length > 0) {
      const known = [...new Set(this.knownScopes)].toSorted().join(', ');
      this.logger.warn({ msg: `There is no scope ${unknown.join(', ')} here, which the tokens file names. There are ${known}.` });
    }
    return [];
  }

  private judge(faults: readonly string[]): void {
    this.isFileValid = faults.length === 0;
    if (!this.isFileValid) {
      this.logger.error({ msg: 'tokens file refused, the tokens before it stay in force', faults });
    }
  }
}

function reasonOf(error: unknown): string {
  return `cannot be read: ${Error.isError(error) ? error.message : String(error)}`;
}
