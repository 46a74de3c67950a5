import { inspect } from 'node:util';
import { Allow } from 'class-validator';
import { DecimalInteger } from '../validation/decimal-integer.decorator.js';
import { Rule } from '../validation/rule.js';
import { isUnset, printable } from './secret.decorator.js';
import {
  Addresses,
  Choice,
  CollectorUrl,
  Flag,
  HeaderPairs,
  HttpsUrl,
  KeyValues,
  PostgresUrl,
  PostgresUrls,
  Ratio,
  RedisUrl,
  Seconds,
} from './variables.decorators.js';

/** When requests that are still in flight are cut off, as a part of `SHUTDOWN_TIMEOUT`: the rest is for what comes after them. */
export const CUT_OFF = 0.9;

/**
 * Everything that can be configured. Each property is the environment variable of that name and its initialiser is the
 * default; `.env.example` lists the same, and a test keeps the two equal. Durations are seconds.
 */
export class Configuration {
  /** TCP port of the API; 0 takes any free port. */
  @DecimalInteger(0, 65_535)
  readonly PORT: number = 3000;

  /** TCP port of the metrics, in Prometheus' text format at `/metrics`; 0 takes any free port. */
  @DecimalInteger(0, 65_535)
  readonly METRICS_PORT: number = 9464;

  /** How long a connection without a request is kept open. Must be longer than the load balancer keeps it, so that it closes first. */
  @Seconds(0.1, 3600)
  readonly KEEP_ALIVE_TIMEOUT: number = 65;

  /** Connections of clients that this process keeps open at most; further ones are closed at once. */
  @DecimalInteger(1, 1_000_000)
  readonly MAX_CONNECTIONS: number = 10_000;

  /** PostgreSQL 15 or newer, as `postgres://user:password@host:5432/database?sslmode=verify-full`. Unset: embedded. */
  @PostgresUrl()
  readonly DATABASE_URL: string | undefined = undefined;

  /**
   * The same database without the pooler: to be set when `DATABASE_URL` leads to PgBouncer in transaction mode. Migrations,
   * which need a session of their own, go this way, and connections to the pooler carry no start-up parameters.
   */
  @PostgresUrl()
  @Rule('needs', 'needs DATABASE_URL', needs('DATABASE_URL'))
  readonly DATABASE_DIRECT_URL: string | undefined = undefined;

  /** Streaming replicas of the database, separated by commas: lists are read from these, and lag behind as they do. */
  @PostgresUrls()
  @Rule('needs', 'needs DATABASE_URL', needs('DATABASE_URL'))
  readonly DATABASE_REPLICA_URLS: readonly string[] = [];

  /** Directory of the embedded database, used when `DATABASE_URL` is unset. One process at a time. */
  @Allow()
  readonly DATA_DIR: string = './data';

  /** Connections to PostgreSQL that this process holds at most. */
  @DecimalInteger(1, 1000)
  readonly DATABASE_POOL_SIZE: number = 10;

  /** How long a request waits for a connection, be it a new one or one that comes free, before it gets 503. */
  @Seconds(0.1, 60)
  readonly DATABASE_CONNECTION_TIMEOUT: number = 5;

  /** How long one SQL statement may run. The embedded database ignores it. */
  @Seconds(0.1, 3600)
  readonly DATABASE_STATEMENT_TIMEOUT: number = 4;

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

  /** Redis 6.2+ or Valkey, where all replicas count together. Unset, or while it is away, each process counts for itself. */
  @RedisUrl()
  readonly REDIS_URL: string | undefined = undefined;

  /** What the names of all keys in Redis begin with. */
  @Rule('name', 'must be 1 to 100 visible ASCII characters without braces', isKeyPrefix)
  readonly REDIS_KEY_PREFIX: string = 'items:';

  /** Processes that share the limit while each counts for itself: each then admits its part of it. */
  @DecimalInteger(1, 10_000)
  readonly RATE_LIMIT_REPLICAS: number = 1;

  /** How long the answer to a request with an `Idempotency-Key` is kept for its repeats. */
  @Seconds(1, 2_592_000)
  readonly IDEMPOTENCY_TTL: number = 86_400;

  /** How long a token may stay in use after it was revoked elsewhere; until then it needs no database look-up. */
  @Seconds(0.1, 30)
  readonly TOKEN_CACHE_TTL: number = 30;

  /** File with one `name:sha256-or-token[:scopes]` a line, read at start and whenever it changes. */
  @Allow()
  readonly AUTH_TOKENS_FILE: string | undefined = undefined;

  /** Whose JWTs are accepted: the `iss` that they carry, where the issuer's keys are looked for. Unset: none are accepted. */
  @HttpsUrl()
  @Rule('needs', 'needs AUTH_JWT_AUDIENCE', needs('AUTH_JWT_AUDIENCE'))
  readonly AUTH_JWT_ISSUER: string | undefined = undefined;

  /** The `aud` that JWTs for this service carry. */
  @Allow()
  @Rule('needs', 'needs AUTH_JWT_ISSUER', needs('AUTH_JWT_ISSUER'))
  readonly AUTH_JWT_AUDIENCE: string | undefined = undefined;

  /** Where the issuer publishes its keys. Unset: where its metadata says, at `/.well-known/openid-configuration`. */
  @HttpsUrl()
  @Rule('needs', 'needs AUTH_JWT_ISSUER', needs('AUTH_JWT_ISSUER'))
  readonly AUTH_JWT_JWKS_URL: string | undefined = undefined;

  /** Failed authentications of one address that are looked up at once; beyond that, unknown tokens are refused without a look-up. */
  @DecimalInteger(1, 1_000_000)
  readonly AUTH_FAILURE_BURST: number = 100;

  /** How many more of them are looked up each second. */
  @DecimalInteger(1, 1_000_000)
  readonly AUTH_FAILURE_RATE: number = 10;

  /** Addresses and networks of load balancers, separated by commas, whose `X-Forwarded-For` tells the address of the client. */
  @Addresses()
  readonly TRUSTED_PROXIES: readonly string[] = [];

  /**
   * How long requests are still taken after SIGTERM, while `/readyz` says 503 and answers close their connections: as long
   * as load balancers may need to stop sending.
   */
  @Seconds(0, 3600)
  @Rule('order', 'must be shorter than nine tenths of SHUTDOWN_TIMEOUT', endsBeforeCutOff)
  readonly SHUTDOWN_DELAY: number = 5;

  /** How long the end may take, from the signal to the exit. Requests that are still in flight shortly before are cut off. */
  @Seconds(0.1, 3600)
  readonly SHUTDOWN_TIMEOUT: number = 25;

  /** Where traces are sent, with OTLP over HTTP: the base URL of a collector, to which `/v1/traces` is added. Unset: none are made. */
  @CollectorUrl()
  readonly OTEL_EXPORTER_OTLP_ENDPOINT: string | undefined = undefined;

  /** Headers that the collector wants, keys of an API perhaps, as `name=value` pairs. */
  @HeaderPairs()
  readonly OTEL_EXPORTER_OTLP_HEADERS: string | undefined = undefined;

  /** How the service is named in traces. Unset: as `OTEL_RESOURCE_ATTRIBUTES` says, or `items`. */
  @Allow()
  readonly OTEL_SERVICE_NAME: string | undefined = undefined;

  /** What else traces say of this process, as `name=value` pairs. */
  @KeyValues()
  readonly OTEL_RESOURCE_ATTRIBUTES: string | undefined = undefined;

  /** Which traces are made. Those that begin with `parentbased_` leave it to the caller if that has a trace of its own. */
  @Choice(
    'always_on',
    'always_off',
    'traceidratio',
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
  )
  readonly OTEL_TRACES_SAMPLER: string = 'parentbased_always_on';

  /** The part of all traces that `traceidratio` makes. */
  @Ratio()
  readonly OTEL_TRACES_SAMPLER_ARG: number = 1;

  /** Turns traces off, regardless of the other variables. */
  @Flag()
  readonly OTEL_SDK_DISABLED: boolean = false;

  /** Least severe log line that is written. */
  @Choice('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent')
  readonly LOG_LEVEL: string = 'info';

  /** `auto` is `pretty` on a terminal and `json` elsewhere. */
  @Choice('auto', 'json', 'pretty')
  readonly LOG_FORMAT: 'auto' | 'json' | 'pretty' = 'auto';

  /** For print-outs, without passwords. */
  toJSON(): object {
    return printable(this);
  }

  /** The same for `console.log` and the like. */
  [inspect.custom](): object {
    return printable(this);
  }
}

/** Braces would choose the slot of Redis Cluster in which a key lies. */
function isKeyPrefix(value: unknown): boolean {
  return typeof value === 'string' && /^[!-z|~]{1,100}$/.test(value);
}

function endsBeforeCutOff(value: unknown, configuration: object): boolean {
  const { SHUTDOWN_TIMEOUT } = configuration as { SHUTDOWN_TIMEOUT: unknown };
  const isComparable = typeof value === 'number' && typeof SHUTDOWN_TIMEOUT === 'number';
  return !isComparable || value < SHUTDOWN_TIMEOUT * CUT_OFF;
}

/** Makes the test of a variable that means nothing without another one. */
function needs(other: string): (value: unknown, configuration: object) => boolean {
  return (value, configuration) => isUnset(value) || !isUnset((configuration as Record<string, unknown>)[other]);
}
