import { IsIn } from 'class-validator';
import { DecimalInteger, Rule } from '../validation/rule.js';
import { SERVICE_NAME } from '../service/service.js';
import { NoPasswordWith, PasswordPath } from './password-file.js';
import { Decimal, Flag, Form, isUnset, ListOf, Seconds } from './variables.decorators.js';

/** Fraction of `SHUTDOWN_TIMEOUT` after which requests are aborted. The rest is to close connections and export spans. */
export const CUT_OFF = 0.9;

/**
 * The environment variables of the platform, with their defaults. Durations are in seconds. `docs/configuration.md`
 * describes them; a test compares it and `.env.example` with this class.
 */
export class Configuration {
  @DecimalInteger(0, 65_535) readonly PORT: number = 3000;
  @Form('address') readonly HOST: string | undefined = undefined;
  @DecimalInteger(0, 65_535)
  @Rule(
    'order',
    'must differ from PORT',
    (value, configuration) => value === 0 || value !== (configuration as Configuration).PORT,
  )
  readonly METRICS_PORT: number = 9464;
  @Seconds(0.1, 3600) readonly KEEP_ALIVE_TIMEOUT: number = 65;
  @DecimalInteger(1, 1_000_000) readonly MAX_CONNECTIONS: number = 10_000;
  @DecimalInteger(1, 1_000_000) readonly MAX_CONNECTIONS_PER_ADDRESS: number = 1000;
  @Seconds(0.1, 60) readonly MAX_EVENT_LOOP_DELAY: number = 0.5;
  @ListOf('network') readonly TRUSTED_PROXIES: readonly string[] = [];
  @Form('publicUrl') readonly PUBLIC_URL: string | undefined = undefined;
  @ListOf('origin') readonly CORS_ORIGINS: readonly string[] = [];
  @Flag() readonly API_DOCS: boolean = true;

  @Form('postgresUrl')
  @NoPasswordWith('DATABASE_PASSWORD_FILE')
  readonly DATABASE_URL: string | undefined = undefined;
  @Form('postgresUrl')
  @Needs('DATABASE_URL')
  @NoPasswordWith('DATABASE_PASSWORD_FILE')
  readonly DATABASE_DIRECT_URL: string | undefined = undefined;
  @Form('postgresUrl')
  @Needs('DATABASE_URL')
  @NoPasswordWith('DATABASE_PASSWORD_FILE')
  readonly DATABASE_READ_URL: string | undefined = undefined;
  @PasswordPath() @Needs('DATABASE_URL') readonly DATABASE_PASSWORD_FILE: string | undefined = undefined;
  readonly DATA_DIR: string = './data';
  @DecimalInteger(1, 1000) readonly DATABASE_POOL_SIZE: number = 10;
  @Seconds(0.1, 60) readonly DATABASE_CONNECTION_TIMEOUT: number = 5;
  @Seconds(0.1, 3600) readonly DATABASE_STATEMENT_TIMEOUT: number = 4;
  @Seconds(0.1, 86_400) readonly DATABASE_STREAM_TIMEOUT: number = 300;
  @Seconds(0.1, 3600) readonly FILTER_TIMEOUT: number = 2;
  @Seconds(0.1, 86_400) readonly FILTER_BUDGET: number = 10;
  @Flag() readonly MIGRATE_ON_START: boolean = true;

  @DecimalInteger(1, 1_000_000) readonly RATE_LIMIT: number = 100;
  @DecimalInteger(1, 86_400) readonly RATE_LIMIT_WINDOW: number = 60;
  @Form('redisUrl') @NoPasswordWith('REDIS_PASSWORD_FILE') readonly REDIS_URL: string | undefined = undefined;
  @PasswordPath() @Needs('REDIS_URL') readonly REDIS_PASSWORD_FILE: string | undefined = undefined;
  /** Braces would choose the slot of a key in Redis Cluster. */
  @Rule('form', 'must be 1 to 100 visible ASCII characters without braces', (value) =>
    /^[!-z|~]{1,100}$/.test(String(value)),
  )
  readonly REDIS_KEY_PREFIX: string = `${SERVICE_NAME}:`;
  @DecimalInteger(1, 10_000)
  @Rule(
    'order',
    'must not exceed RATE_LIMIT, of which each instance has a part',
    (value, configuration) => !(Number(value) > Math.max(1, (configuration as Configuration).RATE_LIMIT)),
  )
  readonly RATE_LIMIT_REPLICAS: number = 1;
  @Seconds(1, 2_592_000) readonly IDEMPOTENCY_TTL: number = 86_400;

  @Seconds(0.1, 30) readonly TOKEN_CACHE_TTL: number = 30;
  @Form('readableFile') readonly AUTH_TOKENS_FILE: string | undefined = undefined;
  @Form('httpsUrl') @Needs('AUTH_JWT_AUDIENCE') readonly AUTH_JWT_ISSUER: string | undefined = undefined;
  @Needs('AUTH_JWT_ISSUER') readonly AUTH_JWT_AUDIENCE: string | undefined = undefined;
  @Form('httpsUrl') @Needs('AUTH_JWT_ISSUER') readonly AUTH_JWT_JWKS_URL: string | undefined = undefined;
  @ListOf('scope') @Needs('AUTH_JWT_ISSUER') readonly AUTH_JWT_DEFAULT_SCOPES: readonly string[] = [];
  @DecimalInteger(1, 1_000_000) readonly AUTH_FAILURE_BURST: number = 100;
  @DecimalInteger(1, 1_000_000) readonly AUTH_FAILURE_RATE: number = 10;

  @Seconds(0, 3600)
  @Rule('order', 'must be shorter than nine tenths of SHUTDOWN_TIMEOUT', endsBeforeCutOff)
  readonly SHUTDOWN_DELAY: number = 5;
  @Seconds(0.1, 3600) readonly SHUTDOWN_TIMEOUT: number = 25;

  @Form('collectorUrl') readonly OTEL_EXPORTER_OTLP_ENDPOINT: string | undefined = undefined;
  @Form('collectorUrl') readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: string | undefined = undefined;
  readonly OTEL_EXPORTER_OTLP_HEADERS: string | undefined = undefined;
  readonly OTEL_SERVICE_NAME: string | undefined = undefined;
  readonly OTEL_RESOURCE_ATTRIBUTES: string | undefined = undefined;
  @IsIn(['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`]))
  readonly OTEL_TRACES_SAMPLER: string = 'parentbased_always_on';
  @Decimal(0, 1) readonly OTEL_TRACES_SAMPLER_ARG: number = 1;
  @Flag() readonly OTEL_SDK_DISABLED: boolean = false;

  @IsIn(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']) readonly LOG_LEVEL: string = 'info';
  @IsIn(['auto', 'json', 'pretty']) readonly LOG_FORMAT: 'auto' | 'json' | 'pretty' = 'auto';
  @Flag() readonly CHECK_RESPONSES: boolean = false;
}

/** True also if one of the two is not a number, which is a separate error. */
function endsBeforeCutOff(delay: unknown, configuration: object): boolean {
  return !(Number(delay) >= (configuration as Configuration).SHUTDOWN_TIMEOUT * CUT_OFF);
}

function Needs(other: keyof Configuration): PropertyDecorator {
  const isMet = (value: unknown, configuration: object) =>
    isUnset(value) || !isUnset((configuration as Configuration)[other]);
  return Rule('needs', `needs ${other}`, isMet);
}
