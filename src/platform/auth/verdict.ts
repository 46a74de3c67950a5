import type { Principal } from './principal.js';

/** Why a request was not let in, for the operator alone: clients are told no more than RFC 6750 says. */
export const REFUSAL_REASONS = [
  /** No bearer credential at all. */
  'missing',
  /** A credential in no form that is accepted. */
  'malformed',
  /** An access token with a mistyped or invented checksum. */
  'checksum',
  /** An access token that was never issued. */
  'unknown',
  'expired',
  'revoked',
  /** Replaced by another token, and past the overlap. */
  'rotated',
  /** Not looked up: its address has failed too often. */
  'budget',
  /** A JWT that is none, or uses another algorithm than those accepted. */
  'jwt-form',
  /** A JWT of a key that the issuer does not publish. */
  'jwt-key',
  'jwt-signature',
  /** A JWT for another audience, of another issuer, or without what it must say. */
  'jwt-claims',
  'jwt-expired',
  'jwt-not-yet',
] as const;

/** One of {@link REFUSAL_REASONS}. */
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** A credential that is good, and until when that may be remembered, in milliseconds since the epoch. */
export interface Accepted {
  readonly principal: Principal;
  readonly until: number;
}

/** A credential that is not. */
export interface Refused {
  readonly refused: RefusalReason;
  /** Id of the access token, if it is a known one. */
  readonly tokenId?: string;
}

/** What is to be thought of a credential. */
export type Verdict = Accepted | Refused;
