import { query } from '../support/query.ts';
import { newId } from '#service/platform/ids/id';
import { tokenDigest, generateToken } from '#service/platform/auth/token-format';

/** Tokens of clients. All have the default limit: honest requests take turns, so that none comes near it. */
export class Tokens {
  /** Of one that sends more than it may. */
  readonly greedy: string;
  /** Of one whose filters take long. */
  readonly slow: string;
  /** Of one that is revoked. */
  readonly revocable: string[];
  readonly count: number;
  private readonly honest: readonly string[];
  private turn = 0;

  private constructor([greedy = '', slow = '', ...others]: readonly string[], revocable: number) {
    this.greedy = greedy;
    this.slow = slow;
    this.count = others.length + 2;
    this.revocable = others.slice(0, revocable);
    this.honest = others.slice(revocable);
  }

  /** @param revocable - how many will be revoked */
  static async issue(url: string, count: number, revocable: number): Promise<Tokens> {
    const tokens = Array.from({ length: count }, generateToken);
    const statement = `
      INSERT INTO access_tokens (id, name, digest, created_at)
      SELECT id, 'soak', decode(digest, 'hex'), now() FROM unnest($1::uuid[], $2::text[]) AS tokens (id, digest)`;
    await query(url, statement, [tokens.map(() => newId()), tokens.map(tokenDigest)]);
    return new Tokens(tokens, revocable);
  }

  next(): string {
    return this.honest[(this.turn += 1) % this.honest.length] ?? '';
  }
}
