import { SentinelConnector } from 'ioredis';

/** Asks all Sentinels for each connection, beginning with the next one: ioredis asks the rest, and fails if none is left. */
export class Sentinels extends SentinelConnector {
  override connect(...parameters: Parameters<SentinelConnector['connect']>): ReturnType<SentinelConnector['connect']> {
    this.sentinelIterator.next();
    // Makes the one before the cursor the first.
    this.sentinelIterator.reset(true);
    return super.connect(...parameters);
  }
}
