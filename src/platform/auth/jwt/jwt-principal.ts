import type { JWTPayload } from 'jose';
import { v5 } from 'uuid';
import { isPrintableLine } from '../printable-line.js';
import type { Principal } from '../principal.js';

/** Characters that a subject may have (OpenID Connect Core 1.0, section 2). */
const LONGEST_SUBJECT = 255;

/**
 * Who the claims of a verified JWT speak of.
 *
 * @param namespace - UUID of the issuer. What is made of it has version 5, and is never the id of an access token, which has 7.
 * @returns undefined when they do not say so in a form that is understood
 */
export function principalOf({ sub, scope, scp }: JWTPayload, namespace: string): Principal | undefined {
  const scopes = scopesOf(scope === undefined ? scp : scope);
  if (typeof sub !== 'string' || !isPrintableLine(sub, LONGEST_SUBJECT) || !scopes) {
    return undefined;
  }
  const id = v5(sub, namespace);
  return { id, familyId: id, subject: sub, scopes };
}

/**
 * Scopes as RFC 9068 has them, separated by spaces, or in a list, as some issuers do. Without the claim a token is restricted
 * to none: those of Kubernetes cannot have it.
 *
 * @returns undefined for what is neither
 */
function scopesOf(claim: unknown): Principal['scopes'] | undefined {
  if (claim === undefined) {
    return 'all';
  }
  if (typeof claim === 'string') {
    return claim.split(' ').filter((scope) => scope !== '');
  }
  return Array.isArray(claim) && claim.every((scope) => typeof scope === 'string') ? claim : undefined;
}
