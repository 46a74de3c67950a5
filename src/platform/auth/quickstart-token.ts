import { Injectable, Logger } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import { Database } from '../database/database.js';
import { AccessTokensService } from './access-tokens.service.js';

/** Issues a token to try the service with, at its first start on the embedded database. */
@Injectable()
export class QuickstartToken {
  constructor(
    private readonly database: Database,
    private readonly tokens: AccessTokensService,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Issues the token `quickstart` and shows it, once in the life of the database; not while the log would not show it.
   *
   * @param url - of something to call with it
   */
  async offer(url: string): Promise<void> {
    const isShown = ['info', 'debug', 'trace'].includes(this.configuration.LOG_LEVEL);
    if (isShown && this.database.isEmbedded && (await this.tokens.isEmpty())) {
      const token = await this.tokens.issue({ name: 'quickstart' }, { actor: 'the service', reason: 'first start' });
      const logger = new Logger('Quickstart');
      logger.log(`Your access token, shown this once: ${token}`);
      logger.log(`Try it: curl -H 'Authorization: Bearer ${token}' ${url}`);
    }
  }
}
