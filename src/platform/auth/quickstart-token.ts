import { Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import { Database } from '../database/database.js';
import { AccessTokensService } from './access-tokens.service.js';

/** Issues a token to try the service with, at its first start on the embedded database. */
@Injectable()
export class QuickstartToken {
  private readonly logger = new Logger('Quickstart');

  constructor(
    private readonly database: Database,
    private readonly tokens: AccessTokensService,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Issues the token `quickstart` and shows it, once in the life of the database; not while the log would not show it.
   *
   * @param path - of something to call with it
   * @param origin - where the service listens, like `http://localhost:3000`
   */
  async offer(origin: string, path: string): Promise<void> {
    const isShown = ['info', 'debug', 'trace'].includes(this.configuration.LOG_LEVEL);
    if (!isShown || !this.database.isEmbedded || !(await this.tokens.isEmpty())) {
      return;
    }
    const token = await this.tokens.issue({ name: 'quickstart' }, { actor: 'the service', reason: 'first start' });
    this.logger.log(`Your access token, shown this once: ${token}`);
    this.logger.log(`Try it: curl -H 'Authorization: Bearer ${token}' ${origin}${path}`);
  }
}
