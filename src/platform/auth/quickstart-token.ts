import { type INestApplicationContext, Logger } from '@nestjs/common';
import { Configuration, logsInfo } from '../config/configuration.js';
import { Database } from '../database/database.js';
import { AccessTokensService } from './access-tokens.service.js';

/**
 * Issues the token `quickstart` and shows it, once in the life of the embedded database; not while the log would not show it.
 *
 * @param url - of something to call with it
 */
export async function offerQuickstartToken(app: INestApplicationContext, url: string): Promise<void> {
  const tokens = app.get(AccessTokensService);
  if (logsInfo(app.get(Configuration)) && app.get(Database).isEmbedded && (await tokens.list()).length === 0) {
    const token = await tokens.issue({ name: 'quickstart' }, { actor: 'the service', reason: 'first start' });
    const logger = new Logger('Quickstart');
    logger.log(`Your access token, shown this once: ${token}`);
    logger.log(`Try it: curl -H 'Authorization: Bearer ${token}' ${url}`);
  }
}
