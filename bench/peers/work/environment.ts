import { Pool } from 'pg';

/** Named as those of the service. */
const { PORT, DATABASE_URL, DATABASE_POOL_SIZE, RATE_LIMIT, RATE_LIMIT_WINDOW, TOKEN_CACHE_TTL = '30' } = process.env;

export const settings = {
  port: Number(PORT),
  databaseUrl: DATABASE_URL,
  poolSize: Number(DATABASE_POOL_SIZE),
  limit: Number(RATE_LIMIT),
  /** Seconds. */
  window: Number(RATE_LIMIT_WINDOW),
  /** How long a token needs no look-up, in seconds. */
  tokenTtl: Number(TOKEN_CACHE_TTL),
};

/** Idle connections are kept as long as the service keeps them, so that no server opens new ones while it is measured. */
export const database = new Pool({
  connectionString: settings.databaseUrl,
  max: settings.poolSize,
  idleTimeoutMillis: 30_000,
});

export function logError(error: unknown): void {
  process.stderr.write(`${Error.isError(error) ? error.stack : String(error)}\n`);
}
