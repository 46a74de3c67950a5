import { DecimalInteger } from '../validation/decimal-integer.decorator.js';
import { Allow } from 'class-validator';
import { Choice, Flag, PostgresUrl, Seconds } from './variables.decorator.js';

/**
 * Everything that can be configured. Each property is the environment variable of that name and its initialiser is the
 * default; `.env.example` lists the same, and a test keeps the two equal. Durations are seconds.
 */
export class Configuration {
  /** TCP port of the API; 0 takes any free port. */
  @DecimalInteger(0, 65_535)
  readonly PORT: number = 3000;

  /** PostgreSQL 15 or newer, as `postgres://user:password@host:5432/database?sslmode=verify-full`. Unset: embedded. */
  @PostgresUrl()
  readonly DATABASE_URL: string | undefined = undefined;

  /** Directory of the embedded database, used when `DATABASE_URL` is unset. One process at a time. */
  @Allow()
  readonly DATA_DIR: string = './data';

  /** Connections to PostgreSQL that this process holds at most. */
  @DecimalInteger(1, 1000)
  readonly DATABASE_POOL_SIZE: number = 10;

  /** How long a request waits for a connection, be it a new one or one that comes free, before it is answered 503. */
  @Seconds(0.1, 60)
  readonly DATABASE_CONNECTION_TIMEOUT: number = 5;

  /** How long one SQL statement may run. The embedded database ignores it. */
  @Seconds(0.1, 3600)
  readonly DATABASE_STATEMENT_TIMEOUT: number = 10;

  /** How long a SQL statement may run that looks for what a client's filter describes. The embedded database ignores it. */
  @Seconds(0.1, 3600)
  readonly FILTER_TIMEOUT: number = 2;

  /** Whether the service applies its own migrations at start. Otherwise it waits, unready, for `migrate` to run. */
  @Flag()
  readonly MIGRATE_ON_START: boolean = true;

  /** Requests that one token may make in any window. */
  @DecimalInteger(1, 1_000_000)
  readonly RATE_LIMIT: number = 100;

  /** Length of the sliding window. */
  @DecimalInteger(1, 86_400)
  readonly RATE_LIMIT_WINDOW: number = 60;

  /** How long a token may stay in use after it was revoked elsewhere; until then it needs no database look-up. */
  @Seconds(0.1, 30)
  readonly TOKEN_CACHE_TTL: number = 30;

  /** How long requests in flight may take to finish after SIGTERM before they are cut off. */
  @Seconds(0.1, 3600)
  readonly SHUTDOWN_TIMEOUT: number = 25;

  /** Least severe log line that is written. */
  @Choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')
  readonly LOG_LEVEL: string = 'info';

  /** `auto` is `pretty` on a terminal and `json` elsewhere. */
  @Choice('auto', 'json', 'pretty')
  readonly LOG_FORMAT: 'auto' | 'json' | 'pretty' = 'auto';
}
