import { createRequire } from 'node:module';

/**
 * The name of this service: authentication realm, prefix of tokens, metrics and keys in Redis, database application name,
 * log field. `npm run rename` changes it, and what else has this name.
 */
export const SERVICE_NAME = 'items';

export const { version: SERVICE_VERSION } = createRequire(import.meta.url)('#package.json') as { version: string };
