const HIDDEN = '***';

/** An access token, also one that is cut short or mistyped, percent-encoded or not. */
const ACCESS_TOKEN = /items(?:[_.~-]|%[0-9A-F]{2})[0-9A-Za-z]{24,}/gi;

/**
 * Three parts of base64url or more: a JWT, signed or encrypted (RFC 7519, section 3), percent-encoded or not, and what is joined
 * to it. It is looked for only where such a text begins, or the time would grow with the square of the length.
 */
const COMPACT = /(?<![\w%-])[\w%-]+(?:\.[\w%-]*){2,}/g;

/** The beginning of the header of a JWT, `{"`. */
const HEADER = 'eyJ';

/** A text without the access tokens and JWTs in it, which clients also send where they do not belong: in a path, for example. */
export function hideCredentials(text: string): string {
  const rest = text.replaceAll(ACCESS_TOKEN, HIDDEN);
  return rest.includes(HEADER) ? rest.replaceAll(COMPACT, (found) => (found.includes(HEADER) ? HIDDEN : found)) : rest;
}
