import { Injectable, Logger } from '@nestjs/common';
import { Database } from '../database/database.js';
import { AccessTokens } from './access-tokens.service.js';

/** Gives whoever starts the service for the first time, on the embedded database, a token to try it with. */
@Injectable()
export class QuickstartToken {
  private readonly logger = new Logger('Quickstart');

  constructor(
    private readonly database: Database,
    private readonly tokens: AccessTokens,
  ) {}

  /**
   * Issues the token `quickstart` and shows it, once in the life of the database.
   *
   * @param path - of something to call with it
   * @param origin - where the service listens, like `http://localhost:3000`
   */
  async offer(origin: string, path: string): Promise<void> {
    if (!this.database.isEmbedded || !(await this.tokens.isEmpty())) {
      return;
    }
    const token = await this.tokens.issue('quickstart');
    this.logger.log(`Your access token, shown this once: ${token}`);
    this.logger.log(`Try it: curl -H 'Authorization: Bearer ${token}' ${origin}${path}`);
  }
}
