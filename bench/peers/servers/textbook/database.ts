import type { Provider } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { AccessToken } from './auth/access-token.entity.js';
import { Item } from './items/item.entity.js';

const { DATABASE_URL = '', DATABASE_POOL_SIZE } = process.env;

export const ITEMS = 'ItemRepository';
export const ACCESS_TOKENS = 'AccessTokenRepository';

/** What `@nestjs/typeorm` would provide. */
export const databaseProviders: Provider[] = [
  {
    provide: DataSource,
    useFactory: () =>
      new DataSource({
        type: 'postgres',
        url: DATABASE_URL,
        poolSize: Number(DATABASE_POOL_SIZE),
        // As long as all others keep them, so that none has to open new ones in its turn.
        extra: { idleTimeoutMillis: 30_000 },
        installExtensions: false,
        entities: [Item, AccessToken],
      }).initialize(),
  },
  { provide: ITEMS, inject: [DataSource], useFactory: (source: DataSource) => source.getRepository(Item) },
  { provide: ACCESS_TOKENS, inject: [DataSource], useFactory: (source: DataSource) => source.getRepository(AccessToken) },
];
