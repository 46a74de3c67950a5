import { Client } from 'pg';
import { digestOf, generateToken } from '../../src/platform/auth/token-format.js';
import { newId } from '../../src/platform/database/id.js';
import { runCli } from './process.js';

/**
 * Issues a token as an operator does, which also applies the migrations.
 *
 * @param environment - that leads to the database
 */
export async function issueToken(environment: NodeJS.ProcessEnv): Promise<string> {
  const { code, stdout, stderr } = await runCli(['token', 'issue', '--name', 'test'], environment);
  if (code !== 0) {
    throw new Error(`No token was issued: ${stderr}`);
  }
  return stdout.trim();
}

/**
 * Issues many tokens at once.
 *
 * @param url - of a database that has its migrations
 */
export async function issueTokens(url: string, count: number): Promise<string[]> {
  const client = new Client(url);
  await client.connect();
  const tokens = Array.from({ length: count }, generateToken);
  for (const token of tokens) {
    const statement = `INSERT INTO access_tokens (id, name, digest, created_at) VALUES ($1, 'test', $2, now())`;
    await client.query(statement, [newId(), digestOf(token)]);
  }
  await client.end();
  return tokens;
}
