import type { AccessToken } from './access-token.entity.js';
import { TOKEN_PREFIX } from './token-format.js';

type Description = ReturnType<typeof describeToken>;

const COLUMNS: Readonly<Record<string, (token: Description) => string>> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  TOKEN: ({ token }) => token,
  CREATED: ({ createdAt }) => minuteOf(createdAt),
  EXPIRES: ({ expiresAt }) => (expiresAt ? minuteOf(expiresAt) : 'never'),
  'LAST USED': ({ lastUsedOn }) => lastUsedOn ?? 'never',
  REVOKED: ({ revokedAt, replacedBy }) => (revokedAt ? minuteOf(revokedAt) : replacedBy === null ? 'no' : 'rotated'),
  LIMIT: ({ limit }) => String(limit ?? 'default'),
  SCOPES: ({ scopes }) => scopes?.join(' ') ?? 'all',
};

/** The public part of a token, as in `token list --json`. */
export function describeToken({ lastFour, rateLimit: limit, ...row }: AccessToken) {
  const { id, name, createdAt, expiresAt, lastUsedOn, revokedAt, scopes, replacedBy } = row;
  const token = `${TOKEN_PREFIX}…${lastFour ?? ''}`;
  return { id, name, token, createdAt, expiresAt, lastUsedOn, revokedAt, scopes, limit, replacedBy };
}

/** The lines of `token list`. */
export function tableOf(tokens: readonly Description[]): string {
  const rows = [Object.keys(COLUMNS), ...tokens.map((token) => Object.values(COLUMNS).map((cellOf) => cellOf(token)))];
  const widthOf = (column: number) => rows.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0);
  const widths = Object.keys(COLUMNS).map((_, column) => widthOf(column));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** A time to the minute, in UTC. */
export function minuteOf(time: Date): string {
  return `${time.toISOString().slice(0, 16)}Z`;
}
