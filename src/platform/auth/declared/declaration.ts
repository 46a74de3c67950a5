import { isUtf8 } from 'node:buffer';
import { v5 } from 'uuid';
import type { Principal } from '../principal.js';
import { fingerprintOfDigest } from '../token-format.js';
import { type ParsedToken, parseTokensFile } from './parse-tokens-file.js';

/** A token as everybody may know it: everything but the token and its digest. */
export interface DeclaredToken {
  readonly id: string;
  readonly name: string;
  readonly scopes: 'all' | readonly string[];
}

/** Of the digests that ids are made of. Another one would give clients a new limit and take their idempotency keys. */
const NAMESPACE = 'ded3dc31-2308-4a1e-9bd0-7047068ef6cf';

/** Faults named at once: the message about a file that is something else must not be as long as the file. */
const MOST_FAULTS = 100;

/** The tokens of one version of the file. */
export class Declaration {
  readonly tokens: readonly DeclaredToken[];
  /** By the fingerprint of the token. */
  private readonly principals: ReadonlyMap<string, Principal>;

  constructor(parsed: readonly ParsedToken[]) {
    const entries = parsed.map(({ digest, name, scopes }) => ({ digest, token: { id: idOf(digest), name, scopes } }));
    this.tokens = entries.map(({ token }) => token);
    this.principals = new Map(
      entries.map(({ digest, token: { id, scopes } }) => [fingerprintOfDigest(digest), { id, familyId: id, scopes }]),
    );
  }

  /** @returns the declaration that a file makes, or all that is wrong with it, by line and without what the line says */
  static parse(content: Buffer): Declaration | { faults: readonly string[] } {
    if (!isUtf8(content)) {
      return { faults: ['is not in UTF-8'] };
    }
    const parsed = parseTokensFile(content.toString());
    if ('tokens' in parsed) {
      return new Declaration(parsed.tokens);
    }
    const faults = parsed.faults.map(({ line, detail }) => `line ${line} ${detail}`);
    const rest = faults.splice(MOST_FAULTS).length;
    return { faults: rest > 0 ? [...faults, `and ${rest} more`] : faults };
  }

  /** @param fingerprint - of a token, from `fingerprintOf` */
  find(fingerprint: string): Principal | undefined {
    return this.principals.get(fingerprint);
  }

  /** What is another than before. A token with another name or other scopes is declared again. */
  changesSince(before: Declaration): { declared: readonly DeclaredToken[]; undeclared: readonly DeclaredToken[] } {
    const known = new Set(before.tokens.map(identityOf));
    const remaining = new Set(this.tokens.map(({ id }) => id));
    return {
      declared: this.tokens.filter((token) => !known.has(identityOf(token))),
      undeclared: before.tokens.filter(({ id }) => !remaining.has(id)),
    };
  }

  /** The scopes that are not among these. */
  scopesBeyond(known: readonly string[]): string[] {
    const named = this.tokens.flatMap(({ scopes }) => (scopes === 'all' ? [] : scopes));
    return [...new Set(named)].filter((scope) => !known.includes(scope)).toSorted();
  }
}

/**
 * All replicas give a token the same id, also after a restart. The id does not give away the digest: that has too much entropy
 * to be guessed and tried.
 */
function idOf(digest: Buffer): string {
  return v5(digest.toString('hex'), NAMESPACE);
}

function identityOf({ id, name, scopes }: DeclaredToken): string {
  return JSON.stringify([id, name, scopes === 'all' ? scopes : scopes.toSorted()]);
}
