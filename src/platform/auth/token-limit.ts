import type { Configuration } from '../config/configuration.js';

/** Describes valid limits in messages, after "write". */
export const TOKEN_LIMIT_RULE = 'a whole number from 1 to 10000';

/** @returns a token's own number of requests in `RATE_LIMIT_WINDOW`; undefined for an invalid text */
export function parseTokenLimit(text: string): number | undefined {
  return /^(?:[1-9][0-9]{0,3}|10000)$/.test(text) ? Number(text) : undefined;
}

/** The error of a limit with which no request would ever be admitted, and its fix; undefined for others. */
export function tokenLimitFault(limit: number | null | undefined, settings: Configuration): string | undefined {
  const { RATE_LIMIT_REPLICAS: instances, REDIS_URL } = settings;
  const fault =
    'has a limit below RATE_LIMIT_REPLICAS: without REDIS_URL, instances share the limit, and each would admit none';
  const isFine = REDIS_URL !== undefined || (limit ?? Infinity) >= instances;
  return isFine ? undefined : `${fault}: write ${instances} or more, or set REDIS_URL`;
}
