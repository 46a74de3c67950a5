import { SERVICE_NAME } from '../config/service-name.js';

/** What is wrong with a credential (RFC 6750, section 3.1). */
interface ChallengeError {
  readonly error: 'invalid_token' | 'insufficient_scope';
  /** What the operation needs, separated by spaces. */
  readonly scope?: string;
}

/**
 * What the header `WWW-Authenticate` says to whom is not let in (RFC 6750, section 3).
 *
 * @param error - unless there was no credential
 */
export function challenge(error?: ChallengeError): string {
  const parameters = Object.entries({ realm: SERVICE_NAME, ...error }).map(([name, value]) => `${name}="${value}"`);
  return `Bearer ${parameters.join(', ')}`;
}
