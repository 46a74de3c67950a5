import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tokenDigest, generateToken } from '../../src/platform/auth/token-format.js';
import { newId } from '../../src/platform/ids/id.js';
import { type Outcome, runCli } from './process.js';
import { query } from './query.js';
import { testDirectory } from './test-database.js';

/** A token that a service with these variables accepts, with any database. */
export async function declareToken(): Promise<{ token: string; variables: { AUTH_TOKENS_FILE: string } }> {
  const token = generateToken();
  const AUTH_TOKENS_FILE = join(await mkdtemp(join(testDirectory(), 'declared-')), 'tokens');
  await writeFile(AUTH_TOKENS_FILE, `test:${token}\n`);
  return { token, variables: { AUTH_TOKENS_FILE } };
}

/** Applies the migrations and issues a token as an operator does. @param run - runs a command, by default as a process */
export async function issueToken(
  environment: NodeJS.ProcessEnv,
  run: (args: string[], environment: NodeJS.ProcessEnv) => Promise<Outcome> = runCli,
): Promise<string> {
  await run(['migrate'], environment);
  const { code, stdout, stderr } = await run(['token', 'issue', '--name', 'test'], environment);
  if (code !== 0) {
    throw new Error(`No token was issued: ${stderr}`);
  }
  return stdout.trim();
}

/** Issues many tokens at a time, in a migrated database. @param limit - of each, instead of `RATE_LIMIT` */
export async function issueTokens(url: string, count: number, limit: number | null = null): Promise<string[]> {
  const tokens = Array.from({ length: count }, generateToken);
  const rows = 'unnest($1::uuid[], $2::text[]) AS tokens (id, digest)';
  const values = "id, 'test', decode(digest, 'hex'), now(), $3::integer";
  const statement = `INSERT INTO access_tokens (id, name, digest, created_at, rate_limit) SELECT ${values} FROM ${rows}`;
  await query(url, statement, [tokens.map(() => newId()), tokens.map(tokenDigest), limit]);
  return tokens;
}
